// SPDX-License-Identifier: BSD-3-Clause
// Looks addresses up in the book, and asks sources outside it for a cookie. One thread.
#include "datagram/peer_addresses.hpp"

#include <algorithm>

namespace acp::datagram {

PeerAddresses::PeerAddresses(const AddressBook& book,
                             CipherSuite& suite,
                             Entropy& entropy,
                             const Credentials& credentials,
                             AnswerQueue& answers,
                             EndpointCounters& counters)
    : book_(book),
      cookies_(suite, entropy),
      credentials_(credentials),
      answers_(answers),
      counters_(counters) {}

bool PeerAddresses::is_listed(NodeId node, const Address& address) const noexcept {
    const std::span<const Address> addresses = book_.addresses_of(node);
    return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

bool PeerAddresses::has_shown_address(const InitPacket& init,
                                      const Address& from,
                                      bool is_busy,
                                      Time now) {
    if (!is_busy && is_listed(init.outer.source, from)) return true;
    return has_cookie(init, from, now);
}

bool PeerAddresses::has_cookie(const InitPacket& init, const Address& from, Time now) {
    if (init.cookie != Random16{}) {
        if (cookies_.is_mine(now, from, init.outer.source, init.nonce, init.cookie)) return true;
        ++counters_.stale_cookie;
    }
    CookiePacket cookie{.outer = credentials_.outer_of(PacketType::cookie)};
    cookie.job = credentials_.job();
    cookie.target = init.outer.source;
    cookie.nonce = init.nonce;
    cookie.cookie = cookies_.make(now, from, init.outer.source, init.nonce);
    ++counters_.cookies_sent;
    answers_.push(from, cookie);
    return false;
}

void PeerAddresses::note_source(Peer& peer, const Address& from) const noexcept {
    if (is_listed(peer.node, from)) {
        peer.address = from;
        peer.shown = {};
    } else if (peer.address.family == 0 || peer.address == peer.shown) {
        peer.address = peer.shown = from;
    }
}

void PeerAddresses::settle(Peer& peer, const Address& from) const noexcept {
    if (is_listed(peer.node, from) || (from == peer.shown && from.family != 0)) {
        peer.address = from;
    }
}

void PeerAddresses::note_probe_timeout(Peer& peer) const noexcept {
    if (++peer.probes_in_vain % probes_per_address != 0) return;
    const std::span<const Address> addresses = book_.addresses_of(peer.node);
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
