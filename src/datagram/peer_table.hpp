// SPDX-License-Identifier: BSD-3-Clause
// All nodes of a job as one endpoint sees them: a seat of 16 bytes per node, indexed by node
// number. A seat refers to a full record while the endpoint has something to do with the node, to a
// folded record while the node is idle, and holds the reason once it is severed. Timers are kept
// elsewhere (PeerTimers): the table does not know when a peer is due. One thread.
// Tests: tests/unit/datagram/endpoint_idle_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/assert.hpp"
#include "datagram/peer.hpp"

namespace acp::datagram {

class PeerTable {
public:
    // Folded records lie in the suite's memory for secrets.
    PeerTable(NodeId nodes, CipherSuite& suite) : suite_(suite), seats_(nodes) {}

    ~PeerTable() {
        for (Seat& seat : seats_) {
            if (seat.place == SeatState::hot) delete seat.peer;
        }
    }

    PeerTable(const PeerTable&) = delete;
    PeerTable& operator=(const PeerTable&) = delete;

    [[nodiscard]] NodeId nodes() const noexcept { return static_cast<NodeId>(seats_.size()); }

    // The full record of a node; nullptr if there is none.
    [[nodiscard]] Peer* hot(NodeId node) const noexcept {
        const Seat& seat = seats_[node];
        return seat.place == SeatState::hot ? seat.peer : nullptr;
    }

    [[nodiscard]] const FoldedPeer* folded(NodeId node) const noexcept {
        const Seat& seat = seats_[node];
        return seat.place == SeatState::folded ? &record(seat.folded) : nullptr;
    }

    [[nodiscard]] bool is_severed(NodeId node) const noexcept { return seats_[node].is_severed; }

    // The instance of a severed node's gateway; 0 if it was never known.
    [[nodiscard]] std::uint64_t instance_of_severed(NodeId node) const noexcept {
        const Seat& seat = seats_[node];
        return seat.place == SeatState::severed ? seat.instance : 0;
    }

    // Enters a full record; a folded one of that node is wiped.
    Peer& seat(std::unique_ptr<Peer> peer) {
        Seat& seat = seats_[peer->node];
        ACP_ASSERT(!seat.is_severed && seat.place != SeatState::hot);
        forget_folded(seat);
        seat.place = SeatState::hot;
        seat.peer = peer.release();
        ++hot_count_;
        return *seat.peer;
    }

    // Replaces a full record by a folded one. Returns false if there is no memory for that; then
    // the full one stays.
    [[nodiscard]] bool fold(NodeId node, const FoldedPeer& folded) noexcept {
        if (free_.empty() && !add_records()) return false;
        const std::uint32_t index = free_.back();
        free_.pop_back();
        drop(node);
        record(index) = folded;
        seats_[node].place = SeatState::folded;
        seats_[node].folded = index;
        return true;
    }

    // Deletes a full record without a trace.
    void drop(NodeId node) noexcept {
        Seat& seat = seats_[node];
        ACP_ASSERT(seat.place == SeatState::hot);
        delete seat.peer;
        seat.peer = nullptr;
        seat.place = SeatState::unknown;
        --hot_count_;
    }

    // Marks a node as severed, for good. A full record stays until bury(), so that its owner can
    // free what it holds.
    void mark_severed(NodeId node, SeverReason reason) noexcept {
        seats_[node].is_severed = true;
        seats_[node].reason = reason;
    }

    // Why a severed node was severed.
    [[nodiscard]] SeverReason reason_of(NodeId node) const noexcept { return seats_[node].reason; }

    // Whether bury() was called for a severed node: nothing more needs to be done for it.
    [[nodiscard]] bool is_buried(NodeId node) const noexcept {
        return seats_[node].place == SeatState::severed;
    }

    // Deletes the record of a severed node; its instance and reason remain.
    void bury(NodeId node) noexcept {
        Seat& seat = seats_[node];
        std::uint64_t instance = 0;
        if (seat.place == SeatState::hot) {
            instance = seat.peer->instance;
            drop(node);
        } else if (seat.place == SeatState::folded) {
            instance = record(seat.folded).instance;
            forget_folded(seat);
        } else if (seat.place == SeatState::severed) {
            return;
        }
        seat.place = SeatState::severed;
        seat.instance = instance;
    }

    [[nodiscard]] std::uint32_t hot_count() const noexcept { return hot_count_; }

    // Memory of everything but full records.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return seats_.capacity() * sizeof(Seat) + chunks_.size() * sizeof(Chunk) +
               chunks_.capacity() * sizeof(chunks_[0]) + free_.capacity() * sizeof(free_[0]);
    }

private:
    enum class SeatState : std::uint8_t { unknown, hot, folded, severed };

    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): one member of a union is enough
    struct Seat {
        union {
            Peer* peer = nullptr;    // hot: the full record, owned
            std::uint64_t instance;  // severed: of its gateway
        };

        std::uint32_t folded = 0;  // folded: index of its record
        SeatState place = SeatState::unknown;
        bool is_severed = false;
        SeverReason reason = SeverReason::told;
    };

    static constexpr std::size_t chunk_records = 256;
    using Chunk = std::array<FoldedPeer, chunk_records>;

    static_assert(sizeof(Seat) == 16);
    static_assert(sizeof(Seat) + sizeof(FoldedPeer) <= 124, "some bytes are left for lists");

    [[nodiscard]] FoldedPeer& record(std::uint32_t index) const noexcept {
        return (*chunks_[index / chunk_records])[index % chunk_records];
    }

    [[nodiscard]] bool add_records() noexcept {
        SecretPointer<Chunk> chunk = make_in_secret_memory<Chunk>(suite_);
        if (chunk == nullptr) return false;
        const auto first = static_cast<std::uint32_t>(chunks_.size() * chunk_records);
        try {
            // Room for all indices, so that returning a record never allocates.
            free_.reserve((chunks_.size() + 1) * chunk_records);
            chunks_.push_back(std::move(chunk));
        } catch (const std::bad_alloc&) {
            return false;
        }
        for (std::uint32_t i = chunk_records; i-- > 0;) free_.push_back(first + i);
        return true;
    }

    void forget_folded(Seat& seat) noexcept {
        if (seat.place != SeatState::folded) return;
        FoldedPeer& folded = record(seat.folded);
        wipe(folded.secret);
        folded = {};
        free_.push_back(seat.folded);
        seat.place = SeatState::unknown;
    }

    CipherSuite& suite_;
    std::vector<Seat> seats_;
    std::vector<SecretPointer<Chunk>> chunks_;
    std::vector<std::uint32_t> free_;
    std::uint32_t hot_count_ = 0;
};

}  // namespace acp::datagram
