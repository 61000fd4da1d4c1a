// SPDX-License-Identifier: BSD-3-Clause
// Where a node is sent to. Its addresses are those of the book; another one counts when a cookie sent there came back,
// and only until the node was heard from one of its own. A handshake message may be a copy that somebody sends from
// elsewhere: it is answered where it came from, and decides nothing (WIRE-18, WIRE-93, WIRE-94).
#include <algorithm>

#include "datagram/endpoint_machine.hpp"

namespace acp::datagram {

bool EndpointMachine::is_listed(NodeId node, const Address& address) const noexcept {
    const std::span<const Address> addresses = company_.book.addresses_of(node);
    return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

// WIRE-18: sources that are not in the book, and all when many handshakes are half open, must show that they
// receive at their address before anything is kept of them or computed for them.
bool EndpointMachine::has_shown_address(const InitPacket& init, const Address& from) {
    const bool is_busy = half_open_ >= std::max(settings_.half_open_max / 4, 1U);
    if (!is_busy && is_listed(init.outer.source, from)) return true;
    return has_cookie(init, from);
}

// Whether an INIT brings back a cookie that was sent where it came from, and so is no copy of an earlier time. Else it
// is answered by one.
bool EndpointMachine::has_cookie(const InitPacket& init, const Address& from) {
    if (init.cookie != Random16{}) {
        if (cookies_.is_mine(now_, from, init.outer.source, init.nonce, init.cookie)) return true;
        ++counters_.stale_cookie;
    }
    CookiePacket cookie{.outer = outer_of(PacketType::cookie)};
    cookie.job = settings_.job_id;
    cookie.target = init.outer.source;
    cookie.nonce = init.nonce;
    cookie.cookie = cookies_.make(now_, from, init.outer.source, init.nonce);
    ++counters_.cookies_sent;
    answer(from, cookie);
    return false;
}

// WIRE-93: keeps whence an INIT came that has shown its address: in case nothing comes from the node's own.
void EndpointMachine::note_source(Peer& peer, const InitPacket& init, const Address& from) {
    if (is_listed(init.outer.source, from)) {
        peer.address = from;
        peer.shown = {};
    } else if (peer.address.family == 0 || peer.address == peer.shown) {
        peer.address = peer.shown = from;
    }
}

// WIRE-93: the first authentic data of a node that asked tells where it is, unless it came from where nobody has
// shown to be.
void EndpointMachine::settle_address(Peer& peer, const Address& from) noexcept {
    if (is_listed(peer.node, from) || (from == peer.shown && from.family != 0)) {
        peer.address = from;
    }
}

// WIRE-94: two probes in a row were not answered: the addresses of the book take turns, and what was shown.
void EndpointMachine::turn_address(Peer& peer) noexcept {
    if (++peer.probes_in_vain % probes_per_address != 0) return;
    const std::span<const Address> addresses = company_.book.addresses_of(peer.node);
    if (addresses.empty()) return;
    const auto at = std::find(addresses.begin(), addresses.end(), peer.address);
    const bool is_last = at == addresses.end() || at + 1 == addresses.end();
    if (!is_last) {
        peer.address = *(at + 1);
    } else if (at != addresses.end() && peer.shown.family != 0) {
        peer.address = peer.shown;
    } else {
        peer.address = addresses.front();
    }
}

}  // namespace acp::datagram
