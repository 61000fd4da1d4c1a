// SPDX-License-Identifier: BSD-3-Clause
// Making peers, and turning them into a few bytes and back. One thread.
#include "datagram/peers.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace acp::datagram {
namespace {

// Every peer with something in flight needs a block of records, busy ones several.
std::uint16_t record_blocks(std::uint32_t send_buffers) {
    return static_cast<std::uint16_t>(std::min(send_buffers / 8 + 64, 65'000U));
}

}  // namespace

Peers::Peers(const Settings& settings, CipherSuite& suite, Entropy& entropy, Counters& counters)
    : settings_(settings),
      suite_(suite),
      entropy_(entropy),
      counters_(counters),
      records_(record_blocks(settings.send_buffers)),
      table_(settings.nodes, suite),
      timers_(settings) {}

Peer* Peers::meet(NodeId node, Time now) {
    if (const FoldedPeer* folded = table_.folded(node)) {
        std::unique_ptr<Peer> woken = wake(*folded, node, now);
        return woken == nullptr ? nullptr : &seat(std::move(woken));
    }
    std::unique_ptr<Peer> made = make(node);
    if (made == nullptr) return nullptr;
    entropy_.fill(made->nonce);
    made->began = never;  // when its first INIT is sent
    made->inits_due = 1;
    Peer& peer = seat(std::move(made));
    make_ready(peer);
    return &peer;
}

std::unique_ptr<Peer> Peers::make(NodeId node) {
    std::unique_ptr<Peer> peer(new (std::nothrow) Peer(node, settings_, records_));
    if (peer != nullptr && peer->congestion == nullptr) peer.reset();
    return peer;
}

std::unique_ptr<Peer> Peers::wake(const FoldedPeer& folded, NodeId node, Time now) {
    std::unique_ptr<Peer> peer = make(node);
    if (peer == nullptr) return nullptr;
    peer->secret = make_in_secret_memory<Secret>(suite_);
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
    peer->fit_allowance();
    peer->heard = peer->active = now;
    const auto shift = settings_.key_packets_log2;
    if (!peer->receive_keys.begin(*peer->secret, node, folded.largest_came >> shift, suite_) ||
        !make_direction_key(*peer->secret, settings_.node, folded.next_number >> shift, suite_,
                            peer->send_key)) {
        return nullptr;
    }
    return peer;
}

Peer& Peers::seat(std::unique_ptr<Peer> peer) {
    timers_.reserve(std::size_t{table_.hot_count()} + 1);
    return table_.seat(std::move(peer));
}

bool Peers::fold(Peer& peer) {
    if (peer.state != Peer::State::connected || peer.held != 0 || peer.sent.count() != 0 ||
        peer.watchers != 0 || peer.wants_room || peer.is_ready || peer.has_ack() ||
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

void Peers::drop(Peer& peer) noexcept {
    take_out(peer);
    table_.drop(peer.node);
}

void Peers::bury(NodeId node) noexcept {
    if (Peer* peer = table_.hot(node)) take_out(*peer);
    table_.bury(node);
}

// Of everything but the table.
void Peers::take_out(Peer& peer) noexcept {
    if (peer.state == Peer::State::half_open) --half_open_;
    timers_.remove(peer);
    ready_.remove(peer);
}

}  // namespace acp::datagram
