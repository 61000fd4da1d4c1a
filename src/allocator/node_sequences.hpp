// SPDX-License-Identifier: BSD-3-Clause
// The vectors and deques in the heap of one process, for one call of a thread of its node or of the
// gateway. Each thread cache of the heap is a participant of its sequences, by the same number. Any
// thread, one object each.
// Tests: tests/unit/allocator/node_sequences_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "allocator/node_heap.hpp"
#include "allocator/node_tables.hpp"
#include "sequence/sequence.hpp"

namespace acp::allocator {

// Answers, for one call, about the other participants of a heap.
class NodeOthers final : public sequence::Others {
public:
    // A participant that holds a sequence for longer than this is considered stopped.
    //   capacity  of the body, in bytes
    [[nodiscard]] static constexpr std::uint64_t patience_ns(std::uint64_t capacity) noexcept {
        constexpr std::uint64_t least_ns = 2'000'000;
        return least_ns + capacity;
    }

    // From now on a call waits so short that a gateway may make it.
    void bound() noexcept { is_bound_ = true; }

    explicit NodeOthers(const NodeHeap& heap) noexcept : heap_(heap) {}

    [[nodiscard]] bool is_dead(std::uint32_t participant) override {
        return heap_.is_participant_gone(participant);
    }

    [[nodiscard]] bool may_wait(std::uint64_t turns, std::uint64_t capacity) override {
        if (turns < turns_of_relaxing) {
            os::relax();
            return true;
        }
        const std::uint64_t now_ns = os::now_ns();
        if (turns == turns_of_relaxing) begin_ns_ = now_ns;
        constexpr std::uint64_t bound_ns = 50'000;
        if (now_ns - begin_ns_ > (is_bound_ ? bound_ns : patience_ns(capacity))) return false;
        os::yield_cpu();
        return true;
    }

private:
    static constexpr std::uint64_t turns_of_relaxing = 32;

    const NodeHeap& heap_;
    std::uint64_t begin_ns_ = 0;
    bool is_bound_ = false;
};

class NodeSequences {
public:
    //   heap    outlives this
    //   thread  the caller's number among the threads of its process (local::Hazards::index_of)
    NodeSequences(NodeHeap& heap, std::uint32_t thread) noexcept
        : heap_(heap),
          lease_(heap, thread),
          blocks_(heap, lease_.cache()),
          others_(heap),
          sequences_(blocks_, others_, heap.sequence_participants(), lease_.cache().number()) {}

    ~NodeSequences() = default;
    NodeSequences(const NodeSequences&) = delete;
    NodeSequences& operator=(const NodeSequences&) = delete;

    [[nodiscard]] sequence::Sequence<>* operator->() noexcept { return &sequences_; }

    // From now on calls wait and copy little: see sequence::Sequence::bound().
    void bound(std::uint64_t copied_most) noexcept {
        others_.bound();
        sequences_.bound(copied_most);
    }

    // Frees a sequence that no thread uses from now on. Recovers processes that are gone first.
    // false: there is no such sequence.
    bool destroy(table::BlockNumber number, sequence::SequenceKind kind) {
        (void)heap_.recover(lease_.cache());
        return sequences_.destroy(number, kind);
    }

    // Runs a call, again where there was no room, after NodeHeap::find_room().
    template <typename Call>
    sequence::SequenceEffect with_room(const Call& call) {
        const sequence::SequenceEffect effect = call();
        const bool has_no_room =
            effect == sequence::SequenceEffect::no_room || effect == sequence::SequenceEffect::held;
        if (!has_no_room) return effect;
        heap_.find_room(lease_.cache());
        return call();
    }

private:
    NodeHeap& heap_;
    NodeHeap::Lease lease_;
    HeapBlocks blocks_;
    NodeOthers others_;
    sequence::Sequence<> sequences_;
};

}  // namespace acp::allocator
