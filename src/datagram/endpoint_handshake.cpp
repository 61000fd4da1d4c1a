// SPDX-License-Identifier: BSD-3-Clause
// How two gateways come to share a secret: INIT, perhaps COOKIE, RESPONSE; and how a peer long idle is folded into a
// few bytes and woken. A node is connected to once: there is no second handshake with the same instance.
#include <algorithm>
#include <new>

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

std::uint32_t EndpointMachine::features() const noexcept {
    return static_cast<std::uint32_t>(settings_.security) | settings_.key_packets_log2 << 8;
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
    init.features = features();
    init.instance = instance_;
    init.first_dsn = settings_.first_dsn;
    init.credit = budget_.unscheduled();
    init.nonce = peer.nonce;
    init.cookie = peer.cookie;
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
    if (init.features != features()) {
        ++counters_.wrong_features;
        return;
    }
    const NodeId node = outer.source;
    if (table_.is_severed(node) || is_closing_) {
        // WIRE-80
        ++counters_.init_severed;
        send_close(from, node, init.instance, 0);
        return;
    }
    if (const FoldedPeer* folded = table_.folded(node)) {
        if (folded->instance != init.instance) {
            fail(node, SeverReason::restarted);
        } else {
            ++counters_.init_repeated;
        }
        return;
    }
    Peer* peer = table_.hot(node);
    if (peer != nullptr && !may_respond(*peer, init, from)) return;
    if (!has_shown_address(init, from)) return;
    if (peer == nullptr) {
        // WIRE-19
        if (half_open_ >= settings_.half_open_max) {
            ++counters_.half_open_full;
            return;
        }
        std::unique_ptr<Peer> made = make_peer(node);
        if (made == nullptr) return;
        peer = &table_.seat(std::move(made));
    }
    respond(*peer, init, from);
}

// Whether an INIT of a node we have dealings with is to be answered by a new response.
bool EndpointMachine::may_respond(Peer& peer, const InitPacket& init, const Address& from) {
    switch (peer.state) {
        case Peer::State::connecting:
            // WIRE-70: both asked; the lower node's question counts.
            if (peer.node < settings_.node) return true;
            ++counters_.init_crossed;
            if (peer.inits_due == 0 && now_ + init_retry_ns / 2 >= peer.next_init) {
                peer.address = from;
                peer.inits_due = 1;
                make_ready(peer);
            }
            return false;
        case Peer::State::half_open:
            if (peer.instance == init.instance && peer.other_nonce == init.nonce) {
                // WIRE-72: the same answer to the same question, and again as much patience.
                peer.began = now_;
                peer.address = from;
                ++counters_.init_repeated;
                send_response(peer);
                return false;
            }
            break;
        case Peer::State::connected:
            break;
    }
    // WIRE-73
    if (peer.instance != init.instance) {
        fail(peer.node, SeverReason::restarted);
    } else {
        ++counters_.init_repeated;
    }
    return false;
}

// WIRE-18: sources that are not in the book, and all when many handshakes are half open, must show that they
// receive at their address before anything is kept of them.
bool EndpointMachine::has_shown_address(const InitPacket& init, const Address& from) {
    const std::span<const Address> addresses = company_.book.addresses_of(init.outer.source);
    const bool is_listed = std::find(addresses.begin(), addresses.end(), from) != addresses.end();
    if (is_listed && half_open_ < std::max(settings_.half_open_max / 4, 1U)) return true;
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

void EndpointMachine::on_cookie(const OuterHeader& outer, const Address& from, Bytes datagram) {
    CookiePacket cookie;
    if (!check(datagram, cookie)) return;
    Peer* peer = table_.hot(outer.source);
    if (peer == nullptr || peer->state != Peer::State::connecting || peer->nonce != cookie.nonce ||
        peer->inits == 0 || peer->cookie == cookie.cookie || table_.is_severed(outer.source)) {
        ++counters_.unexpected_cookie;
        return;
    }
    peer->cookie = cookie.cookie;
    peer->address = from;
    peer->inits_due = 1;
    make_ready(*peer);
}

void EndpointMachine::respond(Peer& peer, const InitPacket& init, const Address& from) {
    company_.entropy.fill(peer.nonce);
    peer.address = from;
    peer.instance = init.instance;
    peer.other_nonce = init.nonce;
    peer.content = DuplicateWindow(init.first_dsn);
    peer.unscheduled = unscheduled_of(init.credit);
    peer.credit = SendCredit(settings_.first_dsn, peer.unscheduled);
    peer.state = Peer::State::half_open;
    peer.began = now_;
    ++half_open_;
    if (!connect(peer, {settings_.job_id, peer.node, settings_.node, init.nonce, peer.nonce}))
        return;
    send_response(peer);
    arm(peer);
}

void EndpointMachine::send_response(const Peer& peer) {
    ResponsePacket response{.outer = outer_of(PacketType::response)};
    response.job = settings_.job_id;
    response.target = peer.node;
    response.features = features();
    response.instance = instance_;
    response.first_dsn = settings_.first_dsn;
    response.credit = budget_.unscheduled();
    response.nonce = peer.nonce;
    response.initiator_nonce = peer.other_nonce;
    ++counters_.responses_sent;
    answer(peer.address, response);
}

void EndpointMachine::on_response(const OuterHeader& outer, const Address& from, Bytes datagram) {
    ResponsePacket response;
    if (!check(datagram, response)) return;
    if (response.features != features()) {
        ++counters_.wrong_features;
        return;
    }
    if (table_.is_severed(outer.source) || is_closing_) {
        // WIRE-80: it has just answered what we asked before that.
        ++counters_.response_severed;
        send_close(from, outer.source, response.instance, 0);
        return;
    }
    Peer* peer = table_.hot(outer.source);
    if (peer == nullptr || peer->state != Peer::State::connecting || peer->inits == 0 ||
        peer->nonce != response.initiator_nonce) {
        ++counters_.unexpected_response;
        return;
    }
    peer->address = from;
    peer->instance = response.instance;
    peer->content = DuplicateWindow(response.first_dsn);
    peer->unscheduled = unscheduled_of(response.credit);
    peer->credit = SendCredit(settings_.first_dsn, peer->unscheduled);
    if (!connect(*peer,
                 {settings_.job_id, settings_.node, peer->node, peer->nonce, response.nonce})) {
        return;
    }
    peer->state = Peer::State::connected;
    ++counters_.connections;
    // WIRE-74: the other side waits for a sign; data does as well, and takes the ping's place.
    peer->is_ping_due = true;
    make_ready(*peer);
    arm(*peer);
}

std::uint8_t EndpointMachine::unscheduled_of(std::uint32_t credit) const noexcept {
    return static_cast<std::uint8_t>(std::clamp(credit, 1U, 64U));
}

// The keys of both directions. false: no memory, the peer is severed.
bool EndpointMachine::connect(Peer& peer, const Parties& parties) {
    peer.secret = connection_secret(secrets_.traffic, parties, company_.suite);
    peer.heard = peer.active = now_;
    peer.inits_due = 0;
    if (peer.receive_keys.begin(peer.secret, peer.node, 0, company_.suite) &&
        make_direction_key(peer.secret, settings_.node, 0, company_.suite, peer.send_key)) {
        return true;
    }
    fail(peer.node, SeverReason::no_memory);
    return false;
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
    peer->state = Peer::State::connected;
    peer->address = folded.address;
    peer->instance = folded.instance;
    peer->secret = folded.secret;
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
    if (!peer->receive_keys.begin(peer->secret, node, folded.largest_came >> shift,
                                  company_.suite) ||
        !make_direction_key(peer->secret, settings_.node, folded.next_number >> shift,
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
    folded.secret = peer.secret;
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
    table_.fold(peer.node, folded);
    wipe(folded.secret);
    ++counters_.folded;
    return true;
}

}  // namespace acp::datagram
