// SPDX-License-Identifier: BSD-3-Clause
// A heap with its blocks and participants in memory that forked processes share, and a thread's
// access to sequences in it. Freed memory is poisoned, so that a later read is noticed.
#pragma once

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <string>

#include "heap/heap.hpp"
#include "heap/walk.hpp"

#include "sequence/sequence.hpp"
#include "support/interleave.hpp"
#include "support/stepped_atomic.hpp"
#include "unit/heap/heap_memory.hpp"

namespace acp::sequence {

using heap::SharedPages;

inline constexpr heap::HeapShape heap_shape{24, 6};
inline constexpr std::uint32_t participants_max = 6;

// A heap in shared memory. Its own words are std::atomic, whatever the sequences use: the heap has
// tests of its own.
struct SharedHeap {
    SharedPages control{heap::Control<>::bytes(heap_shape)};
    SharedPages blocks{heap_shape.areas * heap::area_bytes};
    heap::Heap<> heap{control.data(), heap_shape, heap::keeps_memory};

    [[nodiscard]] std::uint64_t blocks_in_use() const {
        return heap::usage_of(heap.control()).blocks;
    }
};

inline constexpr char poison = '\xdd';

template <template <class> class Atomic>
class HeapBlocks final : public table::Blocks<Atomic> {
public:
    HeapBlocks(const SharedHeap& shared, std::uint32_t number)
        : table::Blocks<Atomic>(shared.blocks.data(), shared.heap.limit_bytes()),
          shared_(shared),
          cache_(number) {}

    BlockNumber allocate(Atomic<std::uint64_t>& place,
                         std::uint64_t bytes,
                         std::uint64_t alignment) override {
        if (allocations_left_ == 0) return 0;
        if (allocations_left_ > 0) --allocations_left_;
        const heap::Offset block = shared_.heap.allocate(cache_, bytes, alignment);
        if (block == heap::no_block) return 0;
        std::memset(this->base() + block, poison, bytes);
        place.store(table::made::of(table::number_of(block)), std::memory_order_release);
        shared_.heap.keep(cache_);
        return table::number_of(block);
    }

    void free(BlockNumber block) override {
        const heap::Offset offset = table::offset_of(block);
        const std::uint64_t bytes = shared_.heap.usable_bytes(offset);
        // 0: the block is free already, which the heap reports below.
        if (bytes != 0) {
            std::memset(this->base() + offset + table::signed_bytes, poison,
                        bytes - table::signed_bytes);
        }
        test::step_of<Atomic>();
        const heap::Freed freed = shared_.heap.free(cache_, offset);
        EXPECT_EQ(freed, heap::Freed::done);
    }

    [[nodiscard]] std::uint64_t usable_bytes(BlockNumber block) override {
        return shared_.heap.usable_bytes(table::offset_of(block));
    }

    [[nodiscard]] bool is_kept(BlockNumber block) override {
        return shared_.heap.is_kept(table::offset_of(block));
    }

    void clear(BlockNumber block, std::uint64_t bytes) override {
        std::memset(this->base() + table::offset_of(block), 0, bytes);
    }

    // How many allocations still succeed; < 0: no limit.
    void set_allocations_left(std::int64_t count) { allocations_left_ = count; }

    [[nodiscard]] heap::ThreadCache& cache() { return cache_; }

private:
    const SharedHeap& shared_;
    heap::ThreadCache cache_;
    std::int64_t allocations_left_ = -1;
};

// The test's answers about other participants: which are dead, and whether to wait for them.
class TestOthers final : public Others {
public:
    [[nodiscard]] bool is_dead(std::uint32_t participant) override {
        return (dead_ >> participant & 1) != 0;
    }

    [[nodiscard]] bool may_wait(std::uint64_t turns, std::uint64_t /*capacity*/) override {
        test::sched::pause();
        ++asked_;
        return turns < turns_most_;
    }

    void set_dead(std::uint32_t participant) { dead_ |= std::uint64_t{1} << participant; }

    void set_turns_most(std::uint64_t turns) { turns_most_ = turns; }

    // How often a caller asked whether to wait for another participant.
    [[nodiscard]] std::uint64_t asked() const { return asked_; }

private:
    std::uint64_t dead_ = 0;
    std::uint64_t turns_most_ = 3;
    std::uint64_t asked_ = 0;
};

// A thread's access to the sequences of a heap.
template <template <class> class Atomic>
struct User {
    User(const SharedHeap& shared, char* participants, std::uint32_t number)
        : blocks(shared, number),
          sequence(blocks, others, {participants, participants_max}, number) {}

    SequenceEffect push(BlockNumber in, ContentEnd end, const std::string& text) {
        std::uint64_t index = 0;
        return sequence.push(in, end, text.data(), text.size(), index);
    }

    SequenceEffect insert(BlockNumber in, std::uint64_t at, const std::string& text) {
        return replace(in, at, 0, text);
    }

    SequenceEffect erase(BlockNumber in, std::uint64_t at, std::uint64_t bytes) {
        return replace(in, at, bytes, "");
    }

    SequenceEffect replace(BlockNumber in,
                           std::uint64_t at,
                           std::uint64_t bytes,
                           const std::string& text) {
        Splice splice;
        splice.at = at;
        splice.removed = bytes;
        splice.source = text.data();
        splice.added = text.size();
        std::uint64_t before = 0;
        return sequence.splice(in, splice, before);
    }

    // Returns "" if the sequence is empty.
    std::string take(BlockNumber in, ContentEnd end, std::uint64_t bytes) {
        std::string taken(bytes, '\0');
        Portion portion;
        EXPECT_EQ(sequence.pop(in, {end, taken.data(), bytes}, portion), SequenceEffect::done);
        taken.resize(portion.bytes);
        return taken;
    }

    std::string read(BlockNumber in) { return read(in, 0, 1 << 18); }

    std::string read(BlockNumber in, std::uint64_t at, std::uint64_t bytes) {
        std::string found(bytes, '\0');
        Portion portion;
        EXPECT_EQ(sequence.read(in, at, found.data(), bytes, portion), SequenceEffect::done);
        found.resize(portion.bytes);
        return found;
    }

    SequenceLayout layout(BlockNumber in, std::uint64_t at, std::uint64_t bytes) {
        SequenceLayout layout;
        EXPECT_EQ(sequence.layout(in, at, bytes, layout), SequenceEffect::done);
        return layout;
    }

    HeapBlocks<Atomic> blocks;
    TestOthers others;
    Sequence<Atomic> sequence;
};

}  // namespace acp::sequence
