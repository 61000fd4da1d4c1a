// SPDX-License-Identifier: BSD-3-Clause
// The interface of a hash table to its heap: blocks of shared memory. Each thread has its own
// object; other threads, also of other processes, allocate and free blocks of the same heap
// concurrently.
// Tests: tests/unit/table.
#pragma once

#include <cstdint>

#include "heap/offset.hpp"

#include "table/words.hpp"

namespace acp::table {

template <template <class> class Atomic>
class Blocks {
public:
    virtual ~Blocks() = default;

    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;

    // Allocates a block and stores made::of(it) in `place`, so that recovery finds the block of a
    // process that is killed before it links it. The block's first two words differ from what they
    // were before. 0: there is no room.
    virtual BlockNumber allocate(Atomic<std::uint64_t>& place,
                                 std::uint64_t bytes,
                                 std::uint64_t alignment) = 0;

    virtual void free(BlockNumber block) = 0;

    // Called before a block is signed (table/freeing.hpp): the thread that allocates the block
    // again then wipes the signature out.
    virtual void note_signed(BlockNumber /*block*/) {}

    // Records that a container belongs to its maker's process until its first use (heap/loans.hpp).
    // false: there is no room for the loan.
    [[nodiscard]] virtual bool lend(BlockNumber /*container*/, std::uint64_t /*maker*/) {
        return false;
    }

    // Ends that loan. false: the maker is dead, and another thread destroys the container.
    [[nodiscard]] virtual bool end_by_use(BlockNumber /*container*/, std::uint32_t /*maker*/) {
        return true;
    }

    // Whether a loan of the block is recorded; then recovery of the loan frees it (heap/loans.hpp).
    [[nodiscard]] virtual bool is_lent(BlockNumber /*block*/) { return false; }

    // Whether a block is allocated and kept: not the unfinished allocation of a running call or of
    // a process killed in it.
    [[nodiscard]] virtual bool is_kept(BlockNumber block) = 0;

    // The bytes of the allocated block of a container that begins there; 0: none does.
    //   block  any number
    [[nodiscard]] virtual std::uint64_t usable_bytes(BlockNumber block) = 0;

    // Makes a block, or its first `bytes`, zero. Fast for much memory that was never touched.
    virtual void clear(BlockNumber block, std::uint64_t bytes) = 0;

    // The address of the heap's offset 0 in this process.
    [[nodiscard]] char* base() const noexcept { return base_; }

    // The bytes of the heap: every block lies below this offset.
    [[nodiscard]] std::uint64_t limit_bytes() const noexcept { return limit_bytes_; }

    // Whether a block of this number and length lies within the heap.
    [[nodiscard]] bool has_block(BlockNumber block, std::uint64_t bytes) const noexcept {
        return is_within(limit_bytes_, block, bytes);
    }

    using OrderAll = bool (*)() noexcept;

    // Executes a barrier in all threads of all processes that use the heap. nullptr: each thread
    // executes one itself when it names a block in a hazard word.
    [[nodiscard]] OrderAll order_all() const noexcept { return order_all_; }

protected:
    Blocks(char* base, std::uint64_t limit_bytes, OrderAll barrier = nullptr) noexcept
        : base_(base), limit_bytes_(limit_bytes), order_all_(barrier) {}

private:
    char* base_;
    std::uint64_t limit_bytes_;
    OrderAll order_all_;
};

}  // namespace acp::table
