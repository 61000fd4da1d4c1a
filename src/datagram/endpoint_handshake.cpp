// SPDX-License-Identifier: BSD-3-Clause
// How two gateways come to share a secret: INIT, perhaps COOKIE, RESPONSE; and how a peer long idle is folded into a
// few bytes and woken. A node is connected to once: there is no second handshake with the same instance.
#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "datagram/endpoint_machine.hpp"

namespace acp::datagram {

// WIRE-6 WIRE-15: length, then MAC, then what every message has.
template <typename Packet>
bool EndpointMachine::check(Bytes datagram, Packet& packet) noexcept {
    if (datagram.size() != sizeof(Packet)) {
        ++counters_.wrong_length;
        return false;
    }
    packet = load<Packet>(datagram.data());
    if (!is_signed(packet, secrets_.handshake, company_.suite)) {
        ++counters_.wrong_mac;
        return false;
    }
    if (packet.job != settings_.job_id) {
        ++counters_.wrong_job;
        return false;
    }
    if (packet.target != settings_.node) {
        ++counters_.wrong_target;
        return false;
    }
    return true;
}

template bool EndpointMachine::check(Bytes datagram, ClosePacket& packet) noexcept;

OuterHeader EndpointMachine::outer_of(PacketType type) const noexcept {
    return {wire_version, static_cast<std::uint8_t>(type), 0, settings_.node, 0};
}

Features EndpointMachine::features() const noexcept {
    const bool is_on = settings_.security != Security::off;
    return {static_cast<std::uint8_t>(settings_.security),
            static_cast<std::uint8_t>(settings_.key_packets_log2),
            is_on ? company_.suite.number() : std::uint8_t{0},
            is_on ? std::uint8_t{1} : std::uint8_t{0}};
}

PublicKey EndpointMachine::public_key() const noexcept {
    return agreement_ == nullptr ? PublicKey{} : agreement_->public_key();
}

// Signs a message and puts it where next_transmit takes it from.
template <typename Packet>
void EndpointMachine::answer(const Address& to, Packet& packet) noexcept {
    if (answers_count_ == answers_max) {
        ++counters_.answers_full;
        return;
    }
    sign(packet, secrets_.handshake, company_.suite);
    Answer& answer = answers_[(answers_first_ + answers_count_++) % answers_max];
    answer.to = to;
    answer.bytes = sizeof packet;
    store(answer.data.data(), packet);
}

template void EndpointMachine::answer(const Address& to, ClosePacket& packet) noexcept;
template void EndpointMachine::answer(const Address& to, CookiePacket& packet) noexcept;

Transmit EndpointMachine::transmit_init(Peer& peer, MutableBytes into) noexcept {
    const std::span<const Address> addresses = company_.book.addresses_of(peer.node);
    --peer.inits_due;
    if (peer.began == never) peer.began = now_;
    // WIRE-71: the addresses in turn; where the other side was heard from comes first.
    if (peer.address.family == 0 && !addresses.empty()) {
        peer.address = addresses[peer.inits % addresses.size()];
    }
    const Time retry = std::max(init_retry_ns, 3 * settings_.initial_rtt_ns);
    const Time most = std::max(init_retry_max_ns, retry);
    peer.next_init = now_ + std::min(retry << std::min(peer.inits, 8U), most);
    if (peer.address.family == 0) peer.inits_due = 0;  // no way there is a try all the same
    // Those sent together are one try, or two addresses would never take turns.
    if (peer.inits_due == 0) ++peer.inits;
    if (peer.address.family == 0) return {};
    InitPacket init{.outer = outer_of(PacketType::init)};
    init.job = settings_.job_id;
    init.target = peer.node;
    init.features = std::bit_cast<std::uint32_t>(features());
    init.instance = instance_;
    init.first_dsn = settings_.first_dsn;
    init.credit = budget_.unscheduled();
    init.nonce = peer.nonce;
    init.cookie = peer.cookie;
    init.public_key = public_key();
    sign(init, secrets_.handshake, company_.suite);
    store(into.data(), init);
    ++counters_.inits_sent;
    const Address to = peer.address;
    if (peer.inits_due == 0) peer.address = {};
    return {to, sizeof init, sizeof init, 1, false};
}

void EndpointMachine::on_init(const OuterHeader& outer, const Address& from, Bytes datagram) {
    InitPacket init;
    if (!check(datagram, init)) return;
    const NodeId node = outer.source;
    if (std::bit_cast<Features>(init.features) != features()) {
        on_other_features(node, from, init);
        return;
    }
    if (table_.is_severed(node) || is_closing_) {
        // WIRE-80
        ++counters_.init_severed;
        send_close(from, node, init.instance);
        return;
    }
    if (const FoldedPeer* folded = table_.folded(node)) {
        // WIRE-73
        if (folded->instance == init.instance) {
            ++counters_.init_repeated;
        } else if (has_cookie(init, from)) {
            fail(node, SeverReason::restarted);
        }
        return;
    }
    Peer* peer = table_.hot(node);
    if (peer != nullptr && !may_respond(*peer, init, from)) return;
    if (!has_shown_address(init, from)) return;
    // WIRE-19
    if (peer == nullptr && half_open_ >= settings_.half_open_max) {
        ++counters_.half_open_full;
        return;
    }
    respond(peer, init, from);
}

// WIRE-95: they can never talk, and both shall say so. A node we have dealings with has said something else before.
void EndpointMachine::on_other_features(NodeId node, const Address& from, const InitPacket& init) {
    ++counters_.wrong_features;
    const Peer* peer = table_.hot(node);
    const bool is_met = table_.folded(node) != nullptr ||
                        (peer != nullptr && peer->state != Peer::State::connecting);
    if (is_met || is_closing_ || !has_shown_address(init, from)) return;
    ClosePacket close = close_packet(node, init.instance, std::bit_cast<std::uint32_t>(features()));
    close.reason = static_cast<std::uint32_t>(CloseReason::mismatched);
    ++counters_.closes_sent;
    answer(from, close);
    if (table_.is_severed(node)) return;
    differing_ = std::bit_cast<Features>(init.features);
    fail(node, SeverReason::mismatched);
}

// Whether an INIT of a node we have dealings with is to be answered by a new response. It may be a copy. An
// INIT of the same instance is answered again only while half open and with the same nonce; one of another instance counts
// only with a cookie, which a copy sent from elsewhere does not have.
bool EndpointMachine::may_respond(Peer& peer, const InitPacket& init, const Address& from) {
    if (peer.state == Peer::State::connecting) {
        // WIRE-70: both asked; the lower node's question counts.
        if (peer.node < settings_.node) return true;
        ++counters_.init_crossed;
        if (peer.inits_due == 0 && now_ + init_retry_ns / 2 >= peer.next_init) {
            // Where it asked from comes first, if it is one of its own addresses.
            if (is_listed(peer.node, from)) peer.address = from;
            peer.inits_due = 1;
            make_ready(peer);
        }
        return false;
    }
    if (peer.instance != init.instance) {
        // WIRE-73: nothing was said yet with one that is half open: the new one takes its place.
        if (!has_cookie(init, from)) return false;
        if (peer.state == Peer::State::half_open) return true;
        fail(peer.node, SeverReason::restarted);
        return false;
    }
    if (peer.state == Peer::State::half_open && peer.other_nonce == init.nonce) {
        // WIRE-72: the same answer to the same question. Its age stays what it is.
        if (!has_shown_address(init, from)) return false;
        note_source(peer, init, from);
        ++counters_.init_repeated;
        send_response(peer, from);
        return false;
    }
    ++counters_.init_repeated;
    return false;
}

void EndpointMachine::on_cookie(const OuterHeader& outer, const Address& from, Bytes datagram) {
    CookiePacket cookie;
    if (!check(datagram, cookie)) return;
    Peer* peer = table_.hot(outer.source);
    if (peer == nullptr || peer->state != Peer::State::connecting || peer->nonce != cookie.nonce ||
        peer->inits == 0 || peer->cookie == cookie.cookie || table_.is_severed(outer.source)) {
        ++counters_.unexpected_cookie;
        return;
    }
    // WIRE-93
    if (!is_listed(outer.source, from)) {
        ++counters_.wrong_source;
        return;
    }
    peer->cookie = cookie.cookie;
    peer->address = from;
    peer->inits_due = 1;
    make_ready(*peer);
}

// All memory is taken before anything is changed: where there is none, the INIT counts as lost.
//   known  the node's record; nullptr: it has none yet
void EndpointMachine::respond(Peer* known, const InitPacket& init, const Address& from) {
    const NodeId node = init.outer.source;
    Random16 nonce{};
    company_.entropy.fill(nonce);
    const Parties parties{settings_.job_id, node,        settings_.node, init.nonce, nonce,
                          init.public_key,  public_key()};
    ConnectionKeys keys;
    if (!agree(node, parties, init.public_key, keys)) return;
    if (known == nullptr) {
        std::unique_ptr<Peer> made = make_peer(node);
        if (made == nullptr) {
            ++counters_.no_memory;
            return;
        }
        known = &seat(std::move(made));
    }
    Peer& peer = *known;
    peer.nonce = nonce;
    peer.address = peer.shown = {};
    note_source(peer, init, from);
    peer.instance = init.instance;
    peer.other_nonce = init.nonce;
    peer.content = DuplicateWindow(init.first_dsn);
    peer.unscheduled = unscheduled_of(init.credit);
    peer.credit = SendCredit(settings_.first_dsn, peer.unscheduled);
    if (peer.state != Peer::State::half_open) ++half_open_;
    peer.state = Peer::State::half_open;
    peer.began = now_;
    connect(peer, std::move(keys));
    send_response(peer, from);
    arm(peer);
}

void EndpointMachine::send_response(const Peer& peer, const Address& to) {
    ResponsePacket response{.outer = outer_of(PacketType::response)};
    response.job = settings_.job_id;
    response.target = peer.node;
    response.features = std::bit_cast<std::uint32_t>(features());
    response.instance = instance_;
    response.first_dsn = settings_.first_dsn;
    response.credit = budget_.unscheduled();
    response.nonce = peer.nonce;
    response.initiator_nonce = peer.other_nonce;
    response.public_key = public_key();
    ++counters_.responses_sent;
    answer(to, response);
}

void EndpointMachine::on_response(const OuterHeader& outer, const Address& from, Bytes datagram) {
    ResponsePacket response;
    if (!check(datagram, response)) return;
    if (std::bit_cast<Features>(response.features) != features()) {
        ++counters_.wrong_features;
        return;
    }
    if (table_.is_severed(outer.source) || is_closing_) {
        // WIRE-80: it has just answered what we asked before that.
        ++counters_.response_severed;
        send_close(from, outer.source, response.instance);
        return;
    }
    Peer* peer = table_.hot(outer.source);
    if (peer == nullptr || peer->state != Peer::State::connecting || peer->inits == 0 ||
        peer->nonce != response.initiator_nonce) {
        ++counters_.unexpected_response;
        return;
    }
    // WIRE-93
    if (!is_listed(outer.source, from)) {
        ++counters_.wrong_source;
        return;
    }
    const Parties parties{settings_.job_id, settings_.node, peer->node,         peer->nonce,
                          response.nonce,   public_key(),   response.public_key};
    ConnectionKeys keys;
    // Where there is no memory for them the next INIT is answered by the same response (WIRE-72).
    if (!agree(peer->node, parties, response.public_key, keys)) return;
    peer->address = from;
    peer->instance = response.instance;
    peer->content = DuplicateWindow(response.first_dsn);
    peer->unscheduled = unscheduled_of(response.credit);
    peer->credit = SendCredit(settings_.first_dsn, peer->unscheduled);
    connect(*peer, std::move(keys));
    peer->state = Peer::State::connected;
    ++counters_.connections;
    // WIRE-74: the other side waits for a sign; data does as well, and takes the ping's place.
    peer->is_ping_due = true;
    make_ready(*peer);
    arm(*peer);
}

// The secret of a connection and the keys of both its directions. false: nothing can be agreed on with the other side's
// public key (WIRE-96), or there is no memory.
bool EndpointMachine::agree(NodeId node,
                            const Parties& parties,
                            const PublicKey& other,
                            ConnectionKeys& keys) noexcept {
    SecretPointer<Secret> shared = make_in_secret_memory<Secret>(company_.suite);
    keys.secret = make_in_secret_memory<Secret>(company_.suite);
    if (shared == nullptr || keys.secret == nullptr) {
        ++counters_.no_memory;
        return false;
    }
    if (agreement_ != nullptr && !agreement_->agree(other, *shared)) {
        ++counters_.weak_key;
        return false;
    }
    const Bytes agreed = agreement_ == nullptr ? Bytes{} : Bytes(*shared);
    derive_connection_secret(secrets_.traffic, agreed, parties, company_.suite, *keys.secret);
    if (!keys.receive.begin(*keys.secret, node, 0, company_.suite) ||
        !make_direction_key(*keys.secret, settings_.node, 0, company_.suite, keys.send)) {
        ++counters_.no_memory;
        return false;
    }
    return true;
}

std::uint8_t EndpointMachine::unscheduled_of(std::uint32_t credit) const noexcept {
    return static_cast<std::uint8_t>(std::clamp(credit, 1U, 64U));
}

// NOLINTNEXTLINE(readability-make-member-function-const): what it changes is part of the endpoint
void EndpointMachine::connect(Peer& peer, ConnectionKeys keys) noexcept {
    peer.secret = std::move(keys.secret);
    peer.receive_keys = std::move(keys.receive);
    peer.send_key = std::move(keys.send);
    peer.heard = peer.active = now_;
    peer.inits_due = 0;
}

// nullptr: no memory.
std::unique_ptr<Peer> EndpointMachine::make_peer(NodeId node) {
    std::unique_ptr<Peer> peer(new (std::nothrow) Peer(node, settings_, records_));
    if (peer != nullptr && peer->congestion == nullptr) peer.reset();
    return peer;
}

std::unique_ptr<Peer> EndpointMachine::wake(const FoldedPeer& folded, NodeId node) {
    std::unique_ptr<Peer> peer = make_peer(node);
    if (peer == nullptr) return nullptr;
    peer->secret = make_in_secret_memory<Secret>(company_.suite);
    if (peer->secret == nullptr) return nullptr;
    peer->state = Peer::State::connected;
    peer->address = folded.address;
    peer->instance = folded.instance;
    *peer->secret = folded.secret;
    peer->next_number = folded.next_number;
    if (folded.next_number != 0) peer->sent.skip(folded.next_number - 1);
    peer->next_dsn = folded.next_dsn;
    peer->unscheduled = folded.unscheduled;
    peer->credit = SendCredit(folded.next_dsn, folded.unscheduled);
    peer->content = DuplicateWindow(folded.next_content);
    peer->has_come = folded.has_come;
    peer->largest_came = folded.largest_came;
    if (folded.has_come) peer->came.forget_up_to(folded.largest_came);
    if (folded.smoothed_rtt_us != 0) {
        peer->rtt = RttEstimator(Time{folded.smoothed_rtt_us} * 1000);
    }
    if (folded.datagram_bytes > peer->mtu.current())
        peer->mtu.on_acknowledged(folded.datagram_bytes);
    peer->longest_came = folded.longest_came;
    fit_allowance(*peer);
    peer->heard = peer->active = now_;
    const auto shift = settings_.key_packets_log2;
    if (!peer->receive_keys.begin(*peer->secret, node, folded.largest_came >> shift,
                                  company_.suite) ||
        !make_direction_key(*peer->secret, settings_.node, folded.next_number >> shift,
                            company_.suite, peer->send_key)) {
        return nullptr;
    }
    return peer;
}

// WIRE-90: nothing under way in either direction, and nothing missing.   false: that is not so
bool EndpointMachine::fold(Peer& peer) {
    if (peer.state != Peer::State::connected || peer.held != 0 || peer.sent.count() != 0 ||
        peer.watchers != 0 || peer.wants_room || peer.is_ready || has_ack(peer) ||
        peer.is_ping_due || peer.content.beyond() != 0) {
        return false;
    }
    FoldedPeer folded;
    folded.secret = *peer.secret;
    folded.instance = peer.instance;
    folded.next_number = peer.next_number;
    folded.largest_came = peer.largest_came;
    folded.address = peer.address;
    folded.next_dsn = peer.next_dsn;
    folded.next_content = peer.content.base();
    folded.smoothed_rtt_us =
        peer.rtt.has_sample()
            ? static_cast<std::uint32_t>(std::clamp<Time>(peer.rtt.smoothed() / 1000, 1, ~0U))
            : 0;
    folded.datagram_bytes = static_cast<std::uint16_t>(peer.mtu.current());
    folded.longest_came = static_cast<std::uint16_t>(peer.longest_came);
    folded.unscheduled = peer.unscheduled;
    folded.has_come = peer.has_come;
    timers_.remove(peer);
    const bool is_folded = table_.fold(peer.node, folded);
    wipe(folded.secret);
    counters_.folded += is_folded ? 1 : 0;
    return is_folded;
}

}  // namespace acp::datagram
