// SPDX-License-Identifier: BSD-3-Clause
// What a hash table needs from the heap that it lies in: blocks of shared memory. The caller's thread has its own object of it; other
// threads, also of other processes, allocate and free blocks of the same heap meanwhile.
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

    // Allocates a block and stores made::of(it) in `place`: a process that is killed in between leaves no block that nobody knows.
    // The block's first two words are other ones than they were. 0: there is no room.
    virtual BlockNumber allocate(Atomic<std::uint64_t>& place,
                                 std::uint64_t bytes,
                                 std::uint64_t alignment) = 0;

    virtual void free(BlockNumber block) = 0;

    // Comes before a block is signed (table/freeing.hpp): whoever gives it out again wipes that out.
    virtual void note_signed(BlockNumber /*block*/) {}

    // Lends a container to the process that makes it, until it is used. false: there is no room for the loan.
    [[nodiscard]] virtual bool lend(BlockNumber /*container*/, std::uint64_t /*maker*/) {
        return false;
    }

    // Ends that loan. false: the maker is gone, and somebody destroys the container.
    [[nodiscard]] virtual bool end_by_use(BlockNumber /*container*/, std::uint32_t /*maker*/) {
        return true;
    }

    // Whether a block is lent to a process: then it is freed as such (heap/loans.hpp).
    [[nodiscard]] virtual bool is_lent(BlockNumber /*block*/) { return false; }

    // Whether a block is allocated and kept: by no call that is under way, or whose process was killed in it.
    [[nodiscard]] virtual bool is_kept(BlockNumber block) = 0;

    // Makes a block, or its first `bytes`, zero. Fast for much memory that was never touched.
    virtual void clear(BlockNumber block, std::uint64_t bytes) = 0;

    // Where offset 0 of the heap lies here.
    [[nodiscard]] char* base() const noexcept { return base_; }

    using OrderAll = bool (*)() noexcept;

    // Executes a barrier in all threads of all processes that use the heap. nullptr: each who names a block executes one.
    [[nodiscard]] OrderAll order_all() const noexcept { return order_all_; }

protected:
    Blocks(char* base, OrderAll barrier) noexcept : base_(base), order_all_(barrier) {}

private:
    char* base_;
    OrderAll order_all_;
};

}  // namespace acp::table
