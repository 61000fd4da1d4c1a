// SPDX-License-Identifier: BSD-3-Clause
// The three messages, as they come and as they go. One thread.
#include "datagram/handshake.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <utility>

namespace acp::datagram {
namespace {

std::uint8_t unscheduled_of(std::uint32_t credit) noexcept {
    return static_cast<std::uint8_t>(std::clamp(credit, 1U, 64U));
}

void connect(Peer& peer, ConnectionKeys keys, Time now) noexcept {
    peer.keys.secret = std::move(keys.secret);
    peer.keys.receive = std::move(keys.receive);
    peer.keys.send = std::move(keys.send);
    peer.life.heard = peer.life.active = now;
    peer.handshake.inits_due = 0;
}

}  // namespace

void Handshake::on_init(const OuterHeader& outer, const Address& from, Bytes datagram, Time now) {
    InitPacket init;
    if (!parts_.credentials.check(datagram, init)) return;
    const NodeId node = outer.source;
    if (std::bit_cast<Features>(init.features) != parts_.credentials.features()) {
        on_other_features(init, from, now);
        return;
    }
    if (parts_.peers.is_severed(node) || parts_.severing.is_closing()) {
        // WIRE-80
        ++parts_.counters.init_severed;
        parts_.severing.send_close(from, node, init.instance);
        return;
    }
    if (const FoldedPeer* folded = parts_.peers.folded(node)) {
        // WIRE-73
        if (folded->instance == init.instance) {
            ++parts_.counters.init_repeated;
        } else if (parts_.addresses.has_cookie(init, from, now)) {
            parts_.severing.sever(node, SeverReason::restarted);
        }
        return;
    }
    Peer* peer = parts_.peers.hot(node);
    if (peer != nullptr && !may_respond(*peer, init, from, now)) return;
    if (!has_shown_address(init, from, now)) return;
    // WIRE-19
    if (peer == nullptr && parts_.peers.half_open() >= settings_.half_open_max) {
        ++parts_.counters.half_open_full;
        return;
    }
    respond(peer, init, from, now);
}

// WIRE-95: they can never talk, and both shall say so. A node we have dealings with has said something else before.
void Handshake::on_other_features(const InitPacket& init, const Address& from, Time now) {
    ++parts_.counters.wrong_features;
    const NodeId node = init.outer.source;
    const Peer* peer = parts_.peers.hot(node);
    const bool is_met = parts_.peers.folded(node) != nullptr ||
                        (peer != nullptr && peer->state != Peer::State::connecting);
    if (is_met || parts_.severing.is_closing() || !has_shown_address(init, from, now)) return;
    parts_.severing.sever_mismatched(init, from);
}

// WIRE-18: many handshakes are half open when a quarter of those allowed are.
bool Handshake::has_shown_address(const InitPacket& init, const Address& from, Time now) {
    const bool is_busy = parts_.peers.half_open() >= std::max(settings_.half_open_max / 4, 1U);
    return parts_.addresses.has_shown_address(init, from, is_busy, now);
}

// Whether an INIT of a node we have dealings with is to be answered by a new response. It may be a copy. An INIT of the
// same instance is answered again only while half open and with the same nonce; one of another instance counts only
// with a cookie, which a copy sent from elsewhere does not have.
bool Handshake::may_respond(Peer& peer, const InitPacket& init, const Address& from, Time now) {
    if (peer.state == Peer::State::connecting) {
        // WIRE-70: both asked; the lower node's question counts.
        if (peer.node < settings_.node) return true;
        ++parts_.counters.init_crossed;
        if (peer.handshake.inits_due == 0 && now + init_retry_ns / 2 >= peer.handshake.next_init) {
            // Where it asked from comes first, if it is one of its own addresses.
            if (parts_.addresses.is_listed(peer.node, from)) peer.address = from;
            peer.handshake.inits_due = 1;
            parts_.peers.make_ready(peer);
        }
        return false;
    }
    if (peer.instance != init.instance) {
        // WIRE-73: nothing was said yet with one that is half open: the new one takes its place.
        if (!parts_.addresses.has_cookie(init, from, now)) return false;
        if (peer.state == Peer::State::half_open) return true;
        parts_.severing.sever(peer.node, SeverReason::restarted);
        return false;
    }
    if (peer.state == Peer::State::half_open && peer.handshake.other_nonce == init.nonce) {
        // WIRE-72: the same answer to the same question. Its age stays what it is.
        if (!has_shown_address(init, from, now)) return false;
        parts_.addresses.note_source(peer, from);
        ++parts_.counters.init_repeated;
        send_response(peer, from);
        return false;
    }
    ++parts_.counters.init_repeated;
    return false;
}

// All memory is taken before anything is changed: where there is none, the INIT counts as lost.
//   known  the node's record; nullptr: it has none yet
void Handshake::respond(Peer* known, const InitPacket& init, const Address& from, Time now) {
    const NodeId node = init.outer.source;
    Random16 nonce{};
    parts_.entropy.fill(nonce);
    const Parties parties{settings_.job_id,
                          node,
                          settings_.node,
                          init.nonce,
                          nonce,
                          init.public_key,
                          parts_.credentials.public_key()};
    ConnectionKeys keys;
    if (!parts_.credentials.agree(node, parties, init.public_key, keys)) return;
    if (known == nullptr) {
        std::unique_ptr<Peer> made = parts_.peers.make(node);
        if (made == nullptr) {
            ++parts_.counters.no_memory;
            return;
        }
        known = &parts_.peers.seat(std::move(made));
    }
    Peer& peer = *known;
    peer.handshake.nonce = nonce;
    peer.address = peer.shown = {};
    parts_.addresses.note_source(peer, from);
    peer.instance = init.instance;
    peer.handshake.other_nonce = init.nonce;
    peer.received.content = DuplicateWindow(init.first_dsn);
    peer.path.unscheduled = unscheduled_of(init.credit);
    peer.path.credit = SendCredit(settings_.first_dsn, peer.path.unscheduled);
    parts_.peers.set_half_open(peer);
    peer.handshake.began = now;
    connect(peer, std::move(keys), now);
    send_response(peer, from);
    parts_.peers.arm(peer, now);
}

void Handshake::send_response(const Peer& peer, const Address& to) {
    const Credentials& credentials = parts_.credentials;
    ResponsePacket response{.outer = credentials.outer_of(PacketType::response)};
    response.job = settings_.job_id;
    response.target = peer.node;
    response.features = std::bit_cast<std::uint32_t>(credentials.features());
    response.instance = credentials.instance();
    response.first_dsn = settings_.first_dsn;
    response.credit = parts_.budget.unscheduled();
    response.nonce = peer.handshake.nonce;
    response.initiator_nonce = peer.handshake.other_nonce;
    response.public_key = credentials.public_key();
    ++parts_.counters.responses_sent;
    parts_.answers.push(to, response);
}

void Handshake::on_cookie(const OuterHeader& outer, const Address& from, Bytes datagram) {
    CookiePacket cookie;
    if (!parts_.credentials.check(datagram, cookie)) return;
    Peer* peer = parts_.peers.hot(outer.source);
    if (peer == nullptr || peer->state != Peer::State::connecting ||
        peer->handshake.nonce != cookie.nonce || peer->handshake.inits == 0 ||
        peer->handshake.cookie == cookie.cookie || parts_.peers.is_severed(outer.source)) {
        ++parts_.counters.unexpected_cookie;
        return;
    }
    // WIRE-93
    if (!parts_.addresses.is_listed(outer.source, from)) {
        ++parts_.counters.wrong_source;
        return;
    }
    peer->handshake.cookie = cookie.cookie;
    peer->address = from;
    peer->handshake.inits_due = 1;
    parts_.peers.make_ready(*peer);
}

void Handshake::on_response(const OuterHeader& outer,
                            const Address& from,
                            Bytes datagram,
                            Time now) {
    ResponsePacket response;
    if (!parts_.credentials.check(datagram, response)) return;
    if (std::bit_cast<Features>(response.features) != parts_.credentials.features()) {
        ++parts_.counters.wrong_features;
        return;
    }
    if (parts_.peers.is_severed(outer.source) || parts_.severing.is_closing()) {
        // WIRE-80: it has just answered what we asked before that.
        ++parts_.counters.response_severed;
        parts_.severing.send_close(from, outer.source, response.instance);
        return;
    }
    Peer* peer = parts_.peers.hot(outer.source);
    if (peer == nullptr || peer->state != Peer::State::connecting || peer->handshake.inits == 0 ||
        peer->handshake.nonce != response.initiator_nonce) {
        ++parts_.counters.unexpected_response;
        return;
    }
    // WIRE-93
    if (!parts_.addresses.is_listed(outer.source, from)) {
        ++parts_.counters.wrong_source;
        return;
    }
    const Parties parties{settings_.job_id,      settings_.node, peer->node,
                          peer->handshake.nonce, response.nonce, parts_.credentials.public_key(),
                          response.public_key};
    ConnectionKeys keys;
    // Where there is no memory for them the next INIT is answered by the same response (WIRE-72).
    if (!parts_.credentials.agree(peer->node, parties, response.public_key, keys)) return;
    peer->address = from;
    peer->instance = response.instance;
    peer->received.content = DuplicateWindow(response.first_dsn);
    peer->path.unscheduled = unscheduled_of(response.credit);
    peer->path.credit = SendCredit(settings_.first_dsn, peer->path.unscheduled);
    connect(*peer, std::move(keys), now);
    parts_.peers.set_connected(*peer);
    ++parts_.counters.connections;
    // WIRE-74: the other side waits for a sign; data does as well, and takes the ping's place.
    peer->flight.is_ping_due = true;
    parts_.peers.make_ready(*peer);
    parts_.peers.arm(*peer, now);
}

Transmit Handshake::transmit_init(Peer& peer, MutableBytes into, Time now) noexcept {
    const Credentials& credentials = parts_.credentials;
    const std::span<const Address> addresses = parts_.addresses.of(peer.node);
    --peer.handshake.inits_due;
    if (peer.handshake.began == never) peer.handshake.began = now;
    // WIRE-71: the addresses in turn; where the other side was heard from comes first.
    if (peer.address.family == 0 && !addresses.empty()) {
        peer.address = addresses[peer.handshake.inits % addresses.size()];
    }
    const Time retry = std::max(init_retry_ns, 3 * settings_.initial_rtt_ns);
    const Time most = std::max(init_retry_max_ns, retry);
    peer.handshake.next_init = now + std::min(retry << std::min(peer.handshake.inits, 8U), most);
    if (peer.address.family == 0)
        peer.handshake.inits_due = 0;  // no way there is a try all the same
    // Those sent together are one try, or two addresses would never take turns.
    if (peer.handshake.inits_due == 0) ++peer.handshake.inits;
    if (peer.address.family == 0) return {};
    InitPacket init{.outer = credentials.outer_of(PacketType::init)};
    init.job = settings_.job_id;
    init.target = peer.node;
    init.features = std::bit_cast<std::uint32_t>(credentials.features());
    init.instance = credentials.instance();
    init.first_dsn = settings_.first_dsn;
    init.credit = parts_.budget.unscheduled();
    init.nonce = peer.handshake.nonce;
    init.cookie = peer.handshake.cookie;
    init.public_key = credentials.public_key();
    credentials.sign(init);
    store(into.data(), init);
    ++parts_.counters.inits_sent;
    const Address to = peer.address;
    if (peer.handshake.inits_due == 0) peer.address = {};
    return {to, sizeof init, sizeof init, 1, false};
}

}  // namespace acp::datagram
