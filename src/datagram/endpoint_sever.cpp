// SPDX-License-Identifier: BSD-3-Clause
// Nodes given up for good, and how two gateways come to agree on it: whoever has severed a node answers whatever it
// still sends with an authenticated CLOSE, which severs at the other end. Answers are few and short, so that nobody
// can use them against others.
#include <algorithm>
#include <bit>
#include <new>

#include "base/assert.hpp"
#include "datagram/endpoint_machine.hpp"

namespace acp::datagram {

void EndpointMachine::sever(NodeId node, SeverReason reason) {
    ACP_ASSERT(node < settings_.nodes && node != settings_.node);
    fail(node, reason);
}

// Marks it at once; the record goes, and the handler is told, in settle().
void EndpointMachine::fail(NodeId node, SeverReason reason) {
    if (table_.is_severed(node)) return;
    table_.mark_severed(node, reason);
    ++counters_.severed;
    // WIRE-83: the other side learns of it now if it listens, else when it asks.
    const bool is_its_doing = reason == SeverReason::closed || reason == SeverReason::restarted ||
                              reason == SeverReason::mismatched;
    if (const Peer* peer = table_.hot(node);
        peer != nullptr && !is_its_doing && peer->state != Peer::State::connecting) {
        send_close(peer->address, node, peer->instance);
    } else if (const FoldedPeer* folded = table_.folded(node); folded != nullptr && !is_its_doing) {
        send_close(folded->address, node, folded->instance);
    }
    try {
        news_.push_back(node);
    } catch (const std::bad_alloc&) {
        has_more_news_ = true;  // settle() searches for it
    }
}

void EndpointMachine::release_all(Peer& peer) {
    while (!peer.waiting.empty()) release(peer, peer.waiting.pop(pool_));
    while (!peer.lost.empty()) release(peer, peer.lost.pop(pool_));
    peer.filling = no_buffer;
    peer.sent.take_lost([&](PacketNumber, const SentDatagram& record) {
        if (record.has_dsn) release(peer, record.buffer);
        return true;
    });
    ACP_ASSERT(peer.held == 0);
    timers_.remove(peer);
}

// Takes a peer out of the queue of the ready: rare, so it is searched for.
void EndpointMachine::unready(Peer& peer) noexcept {
    if (!peer.is_ready) return;
    Peer* before = nullptr;
    for (Peer* other = first_ready_; other != &peer; other = other->next_ready) before = other;
    (before == nullptr ? first_ready_ : before->next_ready) = peer.next_ready;
    if (last_ready_ == &peer) last_ready_ = before;
    peer.is_ready = false;
}

// Everything a severed node held comes free; its instance and the fact remain.
void EndpointMachine::dismantle(NodeId node) {
    if (Peer* peer = table_.hot(node)) {
        if (peer->state == Peer::State::half_open) --half_open_;
        release_all(*peer);
        unready(*peer);
    }
    table_.bury(node);
}

ClosePacket EndpointMachine::close_packet(NodeId node,
                                          std::uint64_t other_instance,
                                          PacketNumber number) noexcept {
    ClosePacket close{.outer = outer_of(PacketType::close)};
    close.outer.number = number;
    close.job = settings_.job_id;
    close.target = node;
    CloseReason reason = CloseReason::unknown;
    if (table_.is_severed(node)) reason = CloseReason::severed;
    if (is_closing_) reason = CloseReason::leaving;
    close.reason = static_cast<std::uint32_t>(reason);
    close.instance = instance_;
    close.other_instance = other_instance;
    return close;
}

// In answer to what passed its MAC, or unasked: once for each such question, which cost whoever sent it no less.
void EndpointMachine::send_close(const Address& to,
                                 NodeId node,
                                 std::uint64_t other_instance) noexcept {
    ClosePacket close = close_packet(node, other_instance, 0);
    ++counters_.closes_sent;
    answer(to, close);
}

// WIRE-82: in answer to data, which anybody may have made up.
void EndpointMachine::send_close_for_data(const Address& to, const OuterHeader& data) noexcept {
    if (!closes_.take(now_, data.source, is_listed(data.source, to))) {
        ++counters_.answers_full;
        return;
    }
    ClosePacket close =
        close_packet(data.source, table_.instance_of_severed(data.source), data.number);
    ++counters_.closes_sent;
    answer(to, close);
}

void EndpointMachine::on_close(const OuterHeader& outer, Bytes datagram) {
    ClosePacket close;
    if (!check(datagram, close)) return;
    const NodeId node = outer.source;
    const Peer* peer = table_.hot(node);
    const FoldedPeer* folded = table_.folded(node);
    const std::uint64_t known = peer != nullptr     ? peer->instance
                                : folded != nullptr ? folded->instance
                                                    : 0;
    const bool is_connected =
        folded != nullptr || (peer != nullptr && peer->state == Peer::State::connected);
    const bool is_known_one = known == 0 || known == close.instance;
    // WIRE-81: it means this very instance, and comes from the one we know; or from one that has taken its place
    // and never met us. All else is of another time, or asked for by somebody else.
    const bool is_meant = close.other_instance == instance_ && is_known_one;
    const bool is_replaced =
        close.other_instance == 0 && is_connected && !is_known_one &&
        outer.number < (peer != nullptr ? peer->next_number : folded->next_number);
    if (table_.is_severed(node) || (!is_meant && !is_replaced)) {
        ++counters_.stale_close;
        return;
    }
    if (is_meant && close.reason == static_cast<std::uint32_t>(CloseReason::mismatched)) {
        differing_ = std::bit_cast<Features>(static_cast<std::uint32_t>(outer.number));
        return fail(node, SeverReason::mismatched);
    }
    fail(node, is_meant ? SeverReason::closed : SeverReason::restarted);
}

void EndpointMachine::close() {
    is_closing_ = true;
}

// WIRE-84: one CLOSE for each node that is connected, then nothing more but answers.
Transmit EndpointMachine::transmit_farewell(MutableBytes into) noexcept {
    while (farewell_next_ < settings_.nodes) {
        const NodeId node = farewell_next_++;
        const Peer* peer = table_.hot(node);
        const FoldedPeer* folded = table_.folded(node);
        if (table_.is_severed(node)) continue;
        if (folded == nullptr && (peer == nullptr || peer->state == Peer::State::connecting))
            continue;
        ClosePacket close =
            close_packet(node, peer != nullptr ? peer->instance : folded->instance, 0);
        sign(close, secrets_.handshake, company_.suite);
        store(into.data(), close);
        ++counters_.closes_sent;
        ++counters_.datagrams_sent;
        counters_.bytes_sent += sizeof close;
        return {peer != nullptr ? peer->address : folded->address, sizeof close, sizeof close, 1,
                false};
    }
    return {};
}

}  // namespace acp::datagram
