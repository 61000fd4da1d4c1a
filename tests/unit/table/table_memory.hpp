// SPDX-License-Identifier: BSD-3-Clause
// A heap with its blocks and participants in memory that forked processes share, and a thread's
// access to tables in it. Freed memory is poisoned, so that a later read is noticed; of a record
// only the value is poisoned, so that a late find still finds its key.
#pragma once

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <sys/mman.h>

#include "heap/heap.hpp"
#include "heap/loans.hpp"
#include "heap/walk.hpp"

#include "support/hash.hpp"
#include "support/stepped_atomic.hpp"
#include "table/table.hpp"
#include "unit/heap/heap_memory.hpp"

namespace acp::table {

using heap::SharedPages;

inline constexpr heap::HeapShape heap_shape{24, 6};
inline constexpr std::uint32_t participants_max = 6;

// A heap in shared memory. Its own words are std::atomic, whatever the tables use: the heap has
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
class HeapBlocks final : public Blocks<Atomic> {
public:
    HeapBlocks(const SharedHeap& shared, std::uint32_t number)
        : Blocks<Atomic>(shared.blocks.data(), shared.heap.limit_bytes()),
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
        place.store(made::of(number_of(block)), std::memory_order_release);
        shared_.heap.keep(cache_);
        return number_of(block);
    }

    void free(BlockNumber block) override {
        const heap::Offset offset = offset_of(block);
        const std::uint64_t bytes = shared_.heap.usable_bytes(offset);
        auto& record = *reinterpret_cast<EntryRecord<Atomic>*>(this->base() + offset);
        if (is_record(record, bytes)) {
            std::memset(record.value(), poison, record.value_bytes);
        } else {
            // The heap returns the memory of a large block to the kernel, and it then reads as
            // zero.
            std::memset(this->base() + offset + signed_bytes, bytes >= 1U << 20 ? 0 : poison,
                        bytes - signed_bytes);
        }
        test::step_of<Atomic>();
        EXPECT_EQ(shared_.heap.free(cache_, offset), heap::Freed::done);
    }

    [[nodiscard]] bool is_kept(BlockNumber block) override {
        return shared_.heap.is_kept(offset_of(block));
    }

    [[nodiscard]] std::uint64_t usable_bytes(BlockNumber block) override {
        return shared_.heap.usable_bytes(offset_of(block));
    }

    void clear(BlockNumber block, std::uint64_t bytes) override {
        test::step_of<Atomic>();
        std::memset(this->base() + offset_of(block), 0, bytes);
        cleared_bytes_ += bytes;
    }

    // All bytes that clear() was called for.
    [[nodiscard]] std::uint64_t cleared_bytes() const { return cleared_bytes_; }

    [[nodiscard]] bool is_lent(BlockNumber block) override {
        return loans_ != nullptr && loans_->has(offset_of(block));
    }

    // Lets blocks have loans.
    //   loans  outlives this
    void set_loans(const heap::Loans<Atomic>& loans) { loans_ = &loans; }

    // How many allocations still succeed; < 0: no limit.
    void set_allocations_left(std::int64_t count) { allocations_left_ = count; }

    [[nodiscard]] heap::ThreadCache& cache() { return cache_; }

private:
    // A freed block was a record if its key begins like all keys of these tests.
    static bool is_record(EntryRecord<Atomic>& record, std::uint64_t bytes) noexcept {
        constexpr std::string_view start = "key ";
        return record.key_bytes >= start.size() && record.key_bytes < bytes &&
               record.value_bytes < bytes &&
               EntryRecord<Atomic>::bytes(record.key_bytes, record.value_bytes) <= bytes &&
               std::memcmp(record.key(), start.data(), start.size()) == 0;
    }

    const SharedHeap& shared_;
    heap::ThreadCache cache_;
    std::int64_t allocations_left_ = -1;
    std::uint64_t cleared_bytes_ = 0;
    const heap::Loans<Atomic>* loans_ = nullptr;
};

// A thread's access to the tables of a heap.
template <template <class> class Atomic>
struct User {
    User(const SharedHeap& shared, char* participants, std::uint32_t number, std::uint32_t batch)
        : blocks(shared, number), table(blocks, {participants, participants_max}, number, batch) {}

    HeapBlocks<Atomic> blocks;
    HashTable<Atomic> table;
};

[[nodiscard]] inline EntryKey key_of(const std::string& text) {
    return {text.data(), static_cast<std::uint32_t>(text.size()), test::hash_of(text)};
}

[[nodiscard]] inline EntryValue value_of(const std::string& text) {
    return {text.data(), static_cast<std::uint32_t>(text.size())};
}

}  // namespace acp::table
