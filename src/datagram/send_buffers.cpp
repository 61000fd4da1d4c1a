// SPDX-License-Identifier: BSD-3-Clause
// Divides the pool of buffers among the peers, and fills buffers with frames. One thread.
#include "datagram/send_buffers.hpp"

#include <algorithm>

namespace acp::datagram {

SendBuffers::SendBuffers(const Settings& settings,
                         const PeerTable& table,
                         EndpointCounters& counters)
    : table_(table),
      counters_(counters),
      datagram_bytes_max_(settings.datagram_bytes_max),
      pool_(settings.send_buffers, settings.datagram_bytes_max) {}

std::byte* SendBuffers::reserve(Peer& peer, std::uint32_t bytes) {
    // If the path has become shorter since the caller asked for the length, the frame may exceed
    // it, up to datagram_bytes_max_; its datagram is sent in fragments.
    ACP_ASSERT(bytes >= 1 && bytes <= datagram_bytes_max_ - overhead_bytes);
    if (peer.queue.filling != no_buffer) {
        SendBuffer& buffer = pool_[peer.queue.filling];
        if (buffer.frame_bytes == 0 ||
            buffer.frame_bytes + bytes <= peer.queue.filling_bytes - overhead_bytes) {
            return pool_.frames(peer.queue.filling) + buffer.frame_bytes;
        }
        // The buffer has room left, but too little for this frame: it is full. An empty buffer is
        // never full.
        peer.queue.filling = no_buffer;
    }
    const std::uint32_t most = peer.next_bytes();
    const BufferIndex buffer = has_room(peer) ? pool_.take() : no_buffer;
    if (buffer == no_buffer) {
        ++counters_.no_buffer;
        if (!peer.queue.wants_room) {
            room_wanted_.push_back(peer.node);  // before wants_room is set, since it may throw
            peer.queue.wants_room = true;
        }
        return nullptr;
    }
    peer.queue.waiting.push(pool_, buffer);
    peer.queue.filling = buffer;
    peer.queue.filling_bytes = most;
    ++peer.queue.held;
    ++uncommitted_;
    return pool_.frames(buffer);
}

MutableBytes SendBuffers::reserve_rest(Peer& peer, std::uint32_t bytes_min) {
    std::byte* const room = reserve(peer, bytes_min);
    if (room == nullptr) return {};
    const std::uint32_t used = pool_[peer.queue.filling].frame_bytes;
    const std::uint32_t end = std::max(peer.queue.filling_bytes - overhead_bytes, used + bytes_min);
    return {room, end - used};
}

void SendBuffers::commit_with_tail(Peer& peer, std::uint32_t bytes, Bytes tail) noexcept {
    ACP_ASSERT(tail.size() >= sizeof(std::byte*) && tail.size() <= 0xffffU);
    const BufferIndex index = peer.queue.filling;
    const auto tail_bytes = static_cast<std::uint32_t>(tail.size());
    commit(peer, bytes + tail_bytes);
    pool_[index].tail_bytes = static_cast<std::uint16_t>(tail_bytes);
    pool_.set_tail(index, tail.data());
    peer.queue.filling = no_buffer;  // the tail ends the datagram
}

void SendBuffers::release_all(Peer& peer) noexcept {
    while (!peer.queue.waiting.empty()) release(peer, peer.queue.waiting.pop(pool_));
    while (!peer.queue.lost.empty()) release(peer, peer.queue.lost.pop(pool_));
    peer.queue.filling = no_buffer;
    peer.flight.sent.take_lost([&](PacketNumber, const SentDatagram& record) {
        if (record.has_dsn) release(peer, record.buffer);
        return true;
    });
    ACP_ASSERT(peer.queue.held == 0);
}

void SendBuffers::offer_released(EndpointHandler& handler) {
    was_released_ = false;
    std::size_t kept = 0;
    const std::size_t count = room_wanted_.size();
    for (std::size_t i = 0; i < count; ++i) {
        const NodeId node = room_wanted_[i];
        Peer* peer = table_.hot(node);
        // An earlier on_room() of this loop may have severed the node or dropped its record.
        if (peer == nullptr || !peer->queue.wants_room || table_.is_severed(node)) continue;
        // Not for every single buffer: only when at least a quarter of what may wait is free.
        const std::uint32_t limit = waiting_limit(*peer);
        if (peer->queue.waiting.size() > limit - limit / 4 || !has_room(*peer) ||
            pool_.free_count() == 0) {
            room_wanted_[kept++] = node;
            continue;
        }
        peer->queue.wants_room = false;
        handler.on_room(node);
    }
    // Peers that found no room during the loop were appended behind `count`.
    room_wanted_.erase(room_wanted_.begin() + static_cast<std::ptrdiff_t>(kept),
                       room_wanted_.begin() + static_cast<std::ptrdiff_t>(count));
}

// How many datagrams of a peer may wait: enough to fill a window that opens at once, but not the
// whole pool.
std::uint32_t SendBuffers::waiting_limit(const Peer& peer) const noexcept {
    const std::uint64_t window = peer.flight.congestion->window_bytes() / peer.path.mtu.current();
    return std::min(
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(window, waiting_min, waiting_max)),
        share());
}

bool SendBuffers::has_room(const Peer& peer) const noexcept {
    // A peer that holds more than its share leaves the last eighth of the pool to others.
    return peer.queue.waiting.size() < waiting_limit(peer) &&
           (peer.queue.held < share() || pool_.free_count() > pool_.size() / 8);
}

// The number of buffers that each peer with a full record may hold: an equal part of half the pool.
std::uint32_t SendBuffers::share() const noexcept {
    return std::max(waiting_share_min, pool_.size() / 2 / std::max(table_.hot_count(), 1U));
}

}  // namespace acp::datagram
