// SPDX-License-Identifier: BSD-3-Clause
// Room for what is to be sent: one pool of buffers that all peers share, and who may have how many of them. A buffer
// fills with frames, waits, is sent, and comes free when it was acknowledged; a peer that found no room hears of it when
// there is some. Knows not what frames hold, and sends nothing. One thread.
// Tests: tests/unit/datagram/send_buffers_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"
#include "datagram/counters.hpp"
#include "datagram/endpoint.hpp"
#include "datagram/peer.hpp"
#include "datagram/peer_table.hpp"
#include "datagram/send_pool.hpp"

namespace acp::datagram {

class SendBuffers {
public:
    static constexpr std::uint32_t waiting_min = 128;  // datagrams a peer may have waiting
    static constexpr std::uint32_t waiting_max = 1024;
    static constexpr std::uint32_t waiting_share_min = 16;  // however many peers there are

    // All outlive it. Throws std::bad_alloc.
    SendBuffers(const Settings& settings, const PeerTable& table, EndpointCounters& counters);

    // Room for one frame of exactly `bytes` in the datagram being filled for a peer; nullptr when there is none now: then
    // offer_room() will name the peer. Throws std::bad_alloc.
    [[nodiscard]] std::byte* reserve(Peer& peer, std::uint32_t bytes);

    // reserve() of all that is left in the datagram that has room for a frame of `bytes_min`.
    [[nodiscard]] MutableBytes reserve_rest(Peer& peer, std::uint32_t bytes_min);

    // `bytes` of what was reserved were written. After reserve() gave room, and not after the buffers were released.
    void commit(Peer& peer, std::uint32_t bytes) noexcept {
        SendBuffer& buffer = pool_[peer.queue.filling];
        ACP_ASSERT(buffer.frame_bytes + bytes <= datagram_bytes_max_ - overhead_bytes);
        if (buffer.frame_bytes == 0 && bytes != 0) --uncommitted_;
        buffer.frame_bytes += bytes;
    }

    // commit() of a frame that ends in bytes which lie elsewhere.
    void commit_with_tail(Peer& peer, std::uint32_t bytes, Bytes tail) noexcept;

    // A buffer of the peer, in none of its queues, comes free.
    void release(Peer& peer, BufferIndex buffer) noexcept {
        if (pool_[buffer].frame_bytes == 0) --uncommitted_;
        pool_.give_back(buffer);
        --peer.queue.held;
        was_released_ = true;
    }

    // All buffers of a peer that goes.
    void release_all(Peer& peer) noexcept;

    // More fits than before, though no buffer came free: something left a queue, or a path became longer.
    void note_room() noexcept { was_released_ = true; }

    // Tells the handler of peers that found no room and may find some now. It may reserve and commit meanwhile.
    void offer_room(EndpointHandler& handler) {
        if (was_released_ && !room_wanted_.empty()) offer_released(handler);
    }

    // How many buffers hold something of the peer that was not yet acknowledged.
    [[nodiscard]] std::uint32_t owed(const Peer& peer) noexcept {
        const bool has_empty =
            peer.queue.filling != no_buffer && pool_[peer.queue.filling].frame_bytes == 0;
        return peer.queue.held - (has_empty ? 1 : 0);
    }

    // Silence counts from when there was a reason to expect an answer.
    void note_owing(Peer& peer, Time now) noexcept {
        if (owed(peer) == 0 && peer.flight.sent.count() == 0 && peer.life.watchers == 0) {
            peer.life.owing_since = never;
            peer.path.narrow_since = never;
            peer.life.probes_unanswered = 0;
        } else if (peer.life.owing_since == never) {
            peer.life.owing_since = now;
        }
    }

    // The buffers' bytes, for who seals them.
    [[nodiscard]] SendPool& pool() noexcept { return pool_; }

    // Whether nothing committed is unacknowledged.
    [[nodiscard]] bool is_quiet() const noexcept {
        return pool_.free_count() + uncommitted_ == pool_.size();
    }

    [[nodiscard]] std::uint32_t free_count() const noexcept { return pool_.free_count(); }

private:
    void offer_released(EndpointHandler& handler);
    [[nodiscard]] std::uint32_t waiting_limit(const Peer& peer) const noexcept;
    [[nodiscard]] bool has_room(const Peer& peer) const noexcept;
    [[nodiscard]] std::uint32_t share() const noexcept;

    const PeerTable& table_;
    EndpointCounters& counters_;
    std::uint32_t datagram_bytes_max_;
    SendPool pool_;
    std::vector<NodeId> room_wanted_;  // peers whose reserve() found no room
    std::uint32_t uncommitted_ = 0;    // buffers reserved in and never committed to
    bool was_released_ = false;        // buffers since room was last offered
};

}  // namespace acp::datagram
