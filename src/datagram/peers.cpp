// SPDX-License-Identifier: BSD-3-Clause
// Makes peers, and folds and wakes them. One thread.
#include "datagram/peers.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace acp::datagram {
namespace {

// Every peer with something in flight needs one block of records, busy peers several.
std::uint16_t record_blocks(std::uint32_t send_buffers) {
    return static_cast<std::uint16_t>(std::min(send_buffers / 8 + 64, 65'000U));
}

}  // namespace

Peers::Peers(const Settings& settings,
             CipherSuite& suite,
             Entropy& entropy,
             EndpointCounters& counters)
    : settings_(settings),
      suite_(suite),
      entropy_(entropy),
      counters_(counters),
      records_(record_blocks(settings.send_buffers)),
      table_(settings.nodes, suite),
      timers_(settings) {}

Peer* Peers::open(NodeId node, Time now) {
    if (const FoldedPeer* folded = table_.folded(node)) {
        std::unique_ptr<Peer> woken = wake(*folded, node, now);
        return woken == nullptr ? nullptr : &seat(std::move(woken));
    }
    std::unique_ptr<Peer> made = make(node);
    if (made == nullptr) return nullptr;
    entropy_.fill(made->handshake.nonce);
    made->handshake.began = never;  // set when the first INIT is sent
    made->handshake.inits_due = 1;
    Peer& peer = seat(std::move(made));
    make_ready(peer);
    return &peer;
}

std::unique_ptr<Peer> Peers::make(NodeId node) {
    std::unique_ptr<Peer> peer(new (std::nothrow) Peer(node, settings_, records_));
    if (peer != nullptr && peer->flight.congestion == nullptr) peer.reset();
    return peer;
}

std::unique_ptr<Peer> Peers::wake(const FoldedPeer& folded, NodeId node, Time now) {
    std::unique_ptr<Peer> peer = make(node);
    if (peer == nullptr) return nullptr;
    peer->keys.secret = make_in_secret_memory<Secret>(suite_);
    if (peer->keys.secret == nullptr) return nullptr;
    peer->state = Peer::State::connected;
    peer->address = folded.address;
    peer->instance = folded.instance;
    *peer->keys.secret = folded.secret;
    peer->keys.next_number = folded.next_number;
    // Packet numbers continue: none is ever used twice under one key.
    if (folded.next_number != 0) peer->flight.sent.skip(folded.next_number - 1);
    peer->path.next_dsn = folded.next_dsn;
    peer->path.unscheduled = folded.unscheduled;
    peer->path.credit = SendCredit(folded.next_dsn, folded.unscheduled);
    peer->received.content = DuplicateWindow(folded.next_content);
    peer->received.has_come = folded.has_come;
    peer->received.largest_came = folded.largest_came;
    if (folded.has_come) peer->received.came.forget_up_to(folded.largest_came);
    if (folded.smoothed_rtt_us != 0) {
        peer->flight.rtt = RttEstimator(Time{folded.smoothed_rtt_us} * 1000);
    }
    if (folded.datagram_bytes > peer->path.mtu.current())
        peer->path.mtu.on_acknowledged(folded.datagram_bytes);
    peer->received.longest_came = folded.longest_came;
    peer->path.fit_allowance();
    peer->life.heard = peer->life.active = now;
    const auto shift = settings_.key_packets_log2;
    if (!peer->keys.receive.begin(*peer->keys.secret, node, folded.largest_came >> shift, suite_) ||
        !make_direction_key(*peer->keys.secret, settings_.node, folded.next_number >> shift, suite_,
                            peer->keys.send)) {
        return nullptr;
    }
    return peer;
}

Peer& Peers::seat(std::unique_ptr<Peer> peer) {
    timers_.reserve(std::size_t{table_.hot_count()} + 1);
    return table_.seat(std::move(peer));
}

bool Peers::fold(Peer& peer) {
    // Folding would lose any of these.
    if (peer.state != Peer::State::connected || peer.queue.held != 0 ||
        peer.flight.sent.count() != 0 || peer.life.watchers != 0 || peer.queue.wants_room ||
        peer.is_ready || peer.ack.is_wanted() || peer.flight.is_ping_due ||
        peer.received.content.beyond() != 0) {
        return false;
    }
    FoldedPeer folded;
    folded.secret = *peer.keys.secret;
    folded.instance = peer.instance;
    folded.next_number = peer.keys.next_number;
    folded.largest_came = peer.received.largest_came;
    folded.address = peer.address;
    folded.next_dsn = peer.path.next_dsn;
    folded.next_content = peer.received.content.base();
    folded.smoothed_rtt_us = peer.flight.rtt.has_sample()
                                 ? static_cast<std::uint32_t>(
                                       std::clamp<Time>(peer.flight.rtt.smoothed() / 1000, 1, ~0U))
                                 : 0;
    folded.datagram_bytes = static_cast<std::uint16_t>(peer.path.mtu.current());
    folded.longest_came = static_cast<std::uint16_t>(peer.received.longest_came);
    folded.unscheduled = peer.path.unscheduled;
    folded.has_come = peer.received.has_come;
    timers_.remove(peer);
    const bool is_folded = table_.fold(peer.node, folded);
    wipe(folded.secret);
    counters_.folded += is_folded ? 1 : 0;
    return is_folded;
}

void Peers::drop(Peer& peer) noexcept {
    take_out(peer);
    table_.drop(peer.node);
}

void Peers::bury(NodeId node) noexcept {
    if (Peer* peer = table_.hot(node)) take_out(*peer);
    table_.bury(node);
}

// Removes a peer from everything but the table.
void Peers::take_out(Peer& peer) noexcept {
    if (peer.state == Peer::State::half_open) --half_open_;
    timers_.remove(peer);
    ready_.remove(peer);
}

}  // namespace acp::datagram
