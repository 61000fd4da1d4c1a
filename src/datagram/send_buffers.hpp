// SPDX-License-Identifier: BSD-3-Clause
// Buffers for content to be sent: one pool that all peers share, and rules for how many each may
// hold. A buffer is filled with frames, waits, is sent, and is freed when its content was
// acknowledged. When room is free again, on_room() notifies the peers that found none. Does not
// know what frames hold, and sends nothing. One thread.
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
    static constexpr std::uint32_t waiting_min = 128;  // bounds of waiting_limit(), in datagrams
    static constexpr std::uint32_t waiting_max = 1024;
    // Bound of share(), however many peers there are.
    static constexpr std::uint32_t waiting_share_min = 16;

    // All arguments must outlive it. Throws std::bad_alloc.
    SendBuffers(const Settings& settings, const PeerTable& table, EndpointCounters& counters);

    // Returns room for one frame of exactly `bytes` in the datagram being filled for a peer.
    // Returns nullptr if there is none now; then offer_room() will name the peer. Throws
    // std::bad_alloc.
    [[nodiscard]] std::byte* reserve(Peer& peer, std::uint32_t bytes);

    // Like reserve(), but returns all the room left in the datagram, at least `bytes_min`.
    [[nodiscard]] MutableBytes reserve_rest(Peer& peer, std::uint32_t bytes_min);

    // Commits the first `bytes` of the room reserved. Only after reserve() returned room, and not
    // after the buffers were released.
    void commit(Peer& peer, std::uint32_t bytes) noexcept {
        SendBuffer& buffer = pool_[peer.queue.filling];
        ACP_ASSERT(buffer.frame_bytes + bytes <= datagram_bytes_max_ - overhead_bytes);
        if (buffer.frame_bytes == 0 && bytes != 0) --uncommitted_;
        buffer.frame_bytes += bytes;
    }

    // Commits a frame whose last bytes lie elsewhere (Endpoint::commit_with_tail()).
    void commit_with_tail(Peer& peer, std::uint32_t bytes, Bytes tail) noexcept;

    // Frees a buffer of the peer that is in none of its queues.
    void release(Peer& peer, BufferIndex buffer) noexcept {
        if (pool_[buffer].frame_bytes == 0) --uncommitted_;
        pool_.give_back(buffer);
        --peer.queue.held;
        was_released_ = true;
    }

    // Frees all buffers of a peer that is about to be deleted.
    void release_all(Peer& peer) noexcept;

    // Notes that more fits than before although no buffer was freed: a datagram left a queue, or a
    // path became longer.
    void note_room() noexcept { was_released_ = true; }

    // Calls on_room() for the peers that found no room and may find some now. The handler may call
    // reserve() and commit() from on_room().
    void offer_room(EndpointHandler& handler) {
        if (was_released_ && !room_wanted_.empty()) offer_released(handler);
    }

    // How many buffers hold content that the peer has not acknowledged.
    [[nodiscard]] std::uint32_t owed(const Peer& peer) noexcept {
        const bool has_empty =
            peer.queue.filling != no_buffer && pool_[peer.queue.filling].frame_bytes == 0;
        return peer.queue.held - (has_empty ? 1 : 0);
    }

    // Starts or ends the wait for an answer, and for the progress of content: silence and
    // standstill count only while there is a reason to expect either.
    void note_owing(Peer& peer, Time now) noexcept {
        const bool has_content = owed(peer) != 0;
        if (!has_content) {
            peer.path.stalled_since = never;
        } else if (peer.path.stalled_since == never) {
            peer.path.stalled_since = now;
        }
        if (!has_content && peer.flight.sent.count() == 0 && peer.life.watchers == 0) {
            peer.life.owing_since = never;
            peer.life.probes_unanswered = 0;
        } else if (peer.life.owing_since == never) {
            peer.life.owing_since = now;
        }
    }

    // The pool, for the code that seals the buffers.
    [[nodiscard]] SendPool& pool() noexcept { return pool_; }

    // Whether all content committed has been acknowledged.
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
    std::uint32_t uncommitted_ = 0;    // buffers taken, but without a committed frame
    bool was_released_ = false;        // more room since room was last offered
};

}  // namespace acp::datagram
