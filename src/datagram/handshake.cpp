// SPDX-License-Identifier: BSD-3-Clause
// Handles received INIT, COOKIE and RESPONSE messages, and makes those that are sent. One thread.
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
    peer.path.note_progress(now);  // WIRE-98: content waited for the connection, not for the path
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

// WIRE-95: nodes with different features can never be connected, and both sides shall report it. An
// INIT of a node that we have already shaken hands with is ignored: its features matched before, so
// this INIT is a copy or comes from someone else.
void Handshake::on_other_features(const InitPacket& init, const Address& from, Time now) {
    ++parts_.counters.wrong_features;
    const NodeId node = init.outer.source;
    const Peer* peer = parts_.peers.hot(node);
    const bool is_met = parts_.peers.folded(node) != nullptr ||
                        (peer != nullptr && peer->state != Peer::State::connecting);
    if (is_met || parts_.severing.is_closing() || !has_shown_address(init, from, now)) return;
    parts_.severing.sever_mismatched(init, from);
}

// WIRE-18: the endpoint counts as flooded when a quarter of the half-open handshakes allowed exist.
bool Handshake::has_shown_address(const InitPacket& init, const Address& from, Time now) {
    const bool is_busy = parts_.peers.half_open() >= std::max(settings_.half_open_max / 4, 1U);
    return parts_.addresses.has_shown_address(init, from, is_busy, now);
}

// Whether to answer an INIT by a new RESPONSE although the node has a record here. The INIT may be
// a replayed copy. One of the known instance is answered again only while the handshake is half
// open, and only with the same nonce. One of another instance counts only with a cookie, which a
// copy sent from elsewhere cannot have.
bool Handshake::may_respond(Peer& peer, const InitPacket& init, const Address& from, Time now) {
    if (peer.state == Peer::State::connecting) {
        // WIRE-70: both sides sent an INIT; that of the lower node number counts.
        if (peer.node < settings_.node) return true;
        ++parts_.counters.init_crossed;
        if (peer.handshake.inits_due == 0 && now + init_retry_ns / 2 >= peer.handshake.next_init) {
            // Our next INIT goes to the source of this one, if that is one of the node's own
            // addresses.
            if (parts_.addresses.is_listed(peer.node, from)) peer.address = from;
            peer.handshake.inits_due = 1;
            parts_.peers.make_ready(peer);
        }
        return false;
    }
    if (peer.instance != init.instance) {
        // WIRE-73: no data was exchanged with a half-open peer, so the new instance takes its
        // place.
        if (!parts_.addresses.has_cookie(init, from, now)) return false;
        if (peer.state == Peer::State::half_open) return true;
        parts_.severing.sever(peer.node, SeverReason::restarted);
        return false;
    }
    if (peer.state == Peer::State::half_open && peer.handshake.other_nonce == init.nonce) {
        // WIRE-72: the same INIT gets the same RESPONSE. The age of the handshake does not change,
        // or repeated INITs would keep it open for ever.
        if (!has_shown_address(init, from, now)) return false;
        parts_.addresses.note_source(peer, from);
        ++parts_.counters.init_repeated;
        send_response(peer, from);
        return false;
    }
    ++parts_.counters.init_repeated;
    return false;
}

// Answers an INIT by a new RESPONSE. All memory is taken before anything is changed, so that an
// INIT for which there is none counts as lost.
//   known  the node's record; nullptr if it has none yet
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
        // WIRE-80: this answers an INIT that we sent before we severed the node or began to leave.
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
    // If there is no memory for the keys, the responder answers our next INIT with the same
    // RESPONSE (WIRE-72).
    if (!parts_.credentials.agree(peer->node, parties, response.public_key, keys)) return;
    peer->address = from;
    peer->instance = response.instance;
    peer->received.content = DuplicateWindow(response.first_dsn);
    peer->path.unscheduled = unscheduled_of(response.credit);
    peer->path.credit = SendCredit(settings_.first_dsn, peer->path.unscheduled);
    connect(*peer, std::move(keys), now);
    parts_.peers.set_connected(*peer);
    ++parts_.counters.connections;
    // WIRE-74: the responder waits for authentic data that shows that its RESPONSE arrived. A ping
    // serves; data takes its place.
    peer->flight.is_ping_due = true;
    parts_.peers.make_ready(*peer);
    parts_.peers.arm(*peer, now);
}

Transmit Handshake::transmit_init(Peer& peer, MutableBytes into, Time now) noexcept {
    const Credentials& credentials = parts_.credentials;
    const std::span<const Address> addresses = parts_.addresses.of(peer.node);
    --peer.handshake.inits_due;
    if (peer.handshake.began == never) peer.handshake.began = now;
    // WIRE-71: INITs go to the node's addresses in turn, beginning with the one from which a
    // message of the node has arrived.
    if (peer.address.family == 0 && !addresses.empty()) {
        peer.address = addresses[peer.handshake.inits % addresses.size()];
    }
    const Time retry = std::max(init_retry_ns, 3 * settings_.initial_rtt_ns);
    const Time most = std::max(init_retry_max_ns, retry);
    peer.handshake.next_init = now + std::min(retry << std::min(peer.handshake.inits, 8U), most);
    // A node without an address counts as tried, so that connect_timeout applies to it too.
    if (peer.address.family == 0) peer.handshake.inits_due = 0;
    // INITs sent together count as one try: all go to one address, and counting each would skip
    // every other address of the node.
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
