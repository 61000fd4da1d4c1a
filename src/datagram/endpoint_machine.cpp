// SPDX-License-Identifier: BSD-3-Clause
// Passes each event to the part that handles it, and reports on all parts together. One thread.
#include "datagram/endpoint_machine.hpp"

#include <algorithm>
#include <new>

#include "base/assert.hpp"

namespace acp::datagram {

EndpointMachine::EndpointMachine(const Settings& settings,
                                 CipherSuite& suite,
                                 Entropy& entropy,
                                 const AddressBook& book,
                                 EndpointHandler& handler)
    : settings_(settings),
      handler_(handler),
      credentials_(settings_, suite, entropy, counters_),
      budget_(settings.receive_bytes,
              std::max(settings.nodes - 1, 1U),
              settings.datagram_bytes,
              settings.datagram_bytes_max),
      answers_(credentials_, counters_),
      addresses_(book, suite, entropy, credentials_, answers_, counters_),
      peers_(settings_, suite, entropy, counters_),
      buffers_(settings_, peers_.table(), counters_),
      severing_({credentials_, answers_, addresses_, peers_, buffers_, counters_}),
      protection_(settings_, suite, credentials_, counters_),
      acknowledger_(settings_, budget_),
      recovery_(addresses_, peers_, buffers_, counters_),
      handshake_(
          settings_,
          {entropy, budget_, credentials_, answers_, addresses_, peers_, severing_, counters_}),
      transmitter_({protection_, acknowledger_, buffers_, severing_, counters_}),
      receiver_({handler, budget_, protection_, acknowledger_, recovery_, addresses_, peers_,
                 severing_, counters_}),
      timer_events_(peers_, buffers_, recovery_, severing_, handler) {
    wipe(settings_.job_key);
}

// Returns the full record of a node to which content is to be sent; nullptr if it is severed or
// this gateway leaves. Throws std::bad_alloc.
inline Peer* EndpointMachine::peer_to_owe(NodeId node) {
    ACP_ASSERT(node < settings_.nodes && node != settings_.node);
    if (peers_.is_severed(node) || severing_.is_closing()) return nullptr;
    Peer* peer = peers_.hot(node);
    if (peer == nullptr && (peer = peers_.open(node, now_)) == nullptr) throw std::bad_alloc();
    return peer;
}

std::byte* EndpointMachine::reserve(NodeId node, std::uint32_t bytes) {
    Peer* peer = peer_to_owe(node);
    return peer == nullptr ? nullptr : buffers_.reserve(*peer, bytes);
}

MutableBytes EndpointMachine::reserve_rest(NodeId node, std::uint32_t bytes_min) {
    Peer* peer = peer_to_owe(node);
    return peer == nullptr ? MutableBytes{} : buffers_.reserve_rest(*peer, bytes_min);
}

void EndpointMachine::commit(NodeId node, std::uint32_t bytes) {
    Peer* peer = peers_.hot(node);
    // The node was severed after reserve(): the frame is dropped like all that was not
    // acknowledged.
    if (peer == nullptr || peer->queue.filling == no_buffer) return;
    buffers_.commit(*peer, bytes);
    peers_.make_ready(*peer);
}

void EndpointMachine::commit_with_tail(NodeId node, std::uint32_t bytes, Bytes tail) {
    Peer* peer = peers_.hot(node);
    if (peer == nullptr || peer->queue.filling == no_buffer) return;
    buffers_.commit_with_tail(*peer, bytes, tail);
    peers_.make_ready(*peer);
}

std::uint32_t EndpointMachine::frame_bytes_max(NodeId node) const noexcept {
    const Peer* peer = peers_.hot(node);
    if (peer != nullptr) return peer->next_bytes() - overhead_bytes;
    const FoldedPeer* folded = peers_.folded(node);
    return (folded != nullptr ? folded->datagram_bytes : settings_.datagram_bytes) - overhead_bytes;
}

void EndpointMachine::watch(NodeId node) {
    ACP_ASSERT(node < settings_.nodes && node != settings_.node);
    if (peers_.is_severed(node) || severing_.is_closing()) return;
    Peer* peer = peers_.hot(node);
    if (peer == nullptr && (peer = peers_.open(node, now_)) == nullptr) return;
    ++peer->life.watchers;
    peers_.make_ready(*peer);
}

void EndpointMachine::unwatch(NodeId node) {
    Peer* peer = peers_.hot(node);
    if (peer == nullptr || peer->life.watchers == 0) return;
    --peer->life.watchers;
}

void EndpointMachine::sever(NodeId node, SeverReason reason) {
    ACP_ASSERT(node < settings_.nodes && node != settings_.node);
    severing_.sever(node, reason);
}

bool EndpointMachine::is_severed(NodeId node) const noexcept {
    return peers_.is_severed(node);
}

void EndpointMachine::close() {
    severing_.close();
}

void EndpointMachine::on_datagram(Time now, const Address& from, MutableBytes datagram) {
    now_ = std::max(now_, now);
    ++counters_.datagrams_received;
    counters_.bytes_received += datagram.size();
    if (datagram.size() < outer_bytes) {
        ++counters_.short_header;
        return;
    }
    const auto outer = load<OuterHeader>(datagram.data());
    if (!is_header_sound(outer, datagram.size())) return;
    switch (static_cast<PacketType>(outer.type)) {
        case PacketType::init:
            handshake_.on_init(outer, from, datagram, now_);
            break;
        case PacketType::cookie:
            handshake_.on_cookie(outer, from, datagram);
            break;
        case PacketType::response:
            handshake_.on_response(outer, from, datagram, now_);
            break;
        case PacketType::close:
            severing_.on_close(outer, datagram);
            break;
        case PacketType::data:
            receiver_.on_data(outer, from, datagram, now_);
            break;
    }
    settle();
}

// Checks the outer header. On false the first failed check was counted.
bool EndpointMachine::is_header_sound(const OuterHeader& outer, std::size_t bytes) noexcept {
    // WIRE-3
    if (outer.version != wire_version) {
        ++counters_.wrong_version;
        return false;
    }
    // WIRE-4
    if (outer.type < static_cast<std::uint8_t>(PacketType::init) ||
        outer.type > static_cast<std::uint8_t>(PacketType::close)) {
        ++counters_.unknown_type;
        return false;
    }
    // WIRE-5
    if (outer.source >= settings_.nodes || outer.source == settings_.node) {
        ++counters_.unknown_node;
        return false;
    }
    // WIRE-6
    if (outer.bytes != bytes) {
        ++counters_.wrong_length;
        return false;
    }
    return true;
}

void EndpointMachine::on_timer(Time now) {
    now_ = std::max(now_, now);
    PeerTimers& timers = peers_.timers();
    timers.note_time(now_);
    while (Peer* peer = timers.ring(now_)) {
        if (!peers_.is_severed(peer->node) && !severing_.is_closing()) {
            timer_events_.ring(*peer, now_);
        }
    }
    settle();
}

Time EndpointMachine::deadline() const noexcept {
    if (!answers_.is_empty() || severing_.has_news()) return 0;
    if (severing_.is_closing()) return severing_.is_farewell_sent() ? never : 0;
    return peers_.has_ready() ? 0 : peers_.timers().next();
}

// Sends answers first, then the datagrams of one peer.
Transmit EndpointMachine::next_transmit(Time now, MutableBytes into) {
    ACP_ASSERT(into.size() >= 65536);
    now_ = std::max(now_, now);
    settle();
    if (!answers_.is_empty()) return answers_.transmit(into);
    if (severing_.is_closing()) return severing_.transmit_farewell(into);
    while (Peer* peer = peers_.take_ready()) {
        if (peers_.is_severed(peer->node)) continue;
        const Transmit transmit = transmit_peer(*peer, into);
        buffers_.note_owing(*peer, now_);
        peers_.arm(*peer, now_);
        if (transmit.bytes == 0) continue;
        counters_.datagrams_sent += transmit.count;
        counters_.bytes_sent += transmit.bytes;
        // The peer may have more to send: it goes to the end of the queue, so that peers take
        // turns.
        peers_.make_ready(*peer);
        return transmit;
    }
    return {};
}

Transmit EndpointMachine::transmit_peer(Peer& peer, MutableBytes into) {
    switch (peer.state) {
        case Peer::State::connecting:
            return peer.handshake.inits_due != 0 ? handshake_.transmit_init(peer, into, now_)
                                                 : Transmit{};
        case Peer::State::half_open:
            // WIRE-74: a responder sends no data until authentic data shows that its RESPONSE
            // arrived
            return {};
        case Peer::State::connected:
            break;
    }
    return transmitter_.transmit(peer, into, now_);
}

// Calls the handler and frees what it held. Only here, so that no function finds a peer or buffer
// gone that it still uses.
void EndpointMachine::settle() {
    severing_.tell_news(handler_);
    buffers_.offer_room(handler_);
}

bool EndpointMachine::is_quiet() const noexcept {
    return buffers_.is_quiet();
}

std::uint32_t EndpointMachine::free_buffers() const noexcept {
    return buffers_.free_count();
}

const EndpointCounters& EndpointMachine::counters() const noexcept {
    return counters_;
}

Features EndpointMachine::features() const noexcept {
    return credentials_.features();
}

Features EndpointMachine::differing_features() const noexcept {
    return severing_.differing_features();
}

std::uint32_t EndpointMachine::stalled_bytes() const noexcept {
    return severing_.stalled_bytes();
}

bool EndpointMachine::stats(NodeId node, PeerStats& stats) const noexcept {
    stats = {};
    if (node >= settings_.nodes) return false;
    stats.is_severed = peers_.is_severed(node);
    if (const FoldedPeer* folded = peers_.folded(node)) {
        stats.is_connected = stats.is_folded = true;
        stats.datagram_bytes = folded->datagram_bytes;
        stats.smoothed_rtt_ns = std::uint64_t{folded->smoothed_rtt_us} * 1000;
        stats.packets_sent = folded->next_number;
        return true;
    }
    const Peer* peer = peers_.hot(node);
    if (peer == nullptr) return stats.is_severed;
    stats.is_connected = peer->state == Peer::State::connected;
    stats.datagram_bytes = peer->path.mtu.current();
    stats.smoothed_rtt_ns = peer->flight.rtt.has_sample() ? peer->flight.rtt.smoothed() : 0;
    stats.minimum_rtt_ns = peer->flight.rtt.has_sample() ? peer->flight.rtt.least() : 0;
    stats.window_bytes = peer->flight.congestion->window_bytes();
    stats.credit = peer->path.credit.left(now_, peer->path.next_dsn);
    stats.in_flight_bytes = peer->flight.sent.bytes_in_flight();
    stats.buffers_held = peer->queue.held;
    stats.packets_sent = peer->keys.next_number;
    stats.packets_received = peer->traffic.packets_received;
    stats.retransmitted = peer->traffic.retransmitted;
    stats.bytes_sent = peer->traffic.bytes_sent;
    stats.bytes_received = peer->traffic.bytes_received;
    return true;
}

}  // namespace acp::datagram
