// SPDX-License-Identifier: BSD-3-Clause
// The heap of a process as numbered operations, for callers of other nodes: the bytes of their
// arguments and results. One operation handles several blocks. Any thread; see
// local/numbered_operation.hpp.
// Tests: tests/unit/allocator/operations_test.cpp, tests/conformance/heap_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "local/numbered_operation.hpp"

#include "allocator/node_heap.hpp"

namespace acp::allocator {

inline constexpr std::uint32_t allocate_number = 2;
inline constexpr std::uint32_t free_number = 3;
inline constexpr std::uint32_t usable_number = 4;
inline constexpr std::uint32_t clear_number = 5;
inline constexpr std::uint32_t usage_number = 6;
inline constexpr std::uint32_t check_number = 7;
inline constexpr std::uint32_t lend_number = 23;
inline constexpr std::uint32_t take_back_number = 24;
inline constexpr std::uint32_t free_owned_number = 25;
inline constexpr std::uint32_t replace_number = 26;
inline constexpr std::uint32_t in_use_number = 27;

// The most blocks that one operation allocates or frees.
inline constexpr std::uint32_t blocks_max = memory::invoke_bytes_max / sizeof(std::uint64_t) - 1;

// allocate: the first bytes of its arguments; the sizes follow, a uint64 each. Its result is the
// address of each block, 0 where there was no room. Errors: argument (malformed), unsupported (the
// job has no heaps).
struct AllocateHead {
    std::uint32_t alignment = alignment_least;
    BlockOwner owner = BlockOwner::program;  // or separate
};

// free: its arguments are the addresses, its result is a heap::Freed for each, one byte.
// free_owned: of separate blocks. usable: its argument is an address, its result the block's usable
// bytes; 0: no block begins there.

// clear: makes bytes of a block of the program zero. Errors: address (no such block begins there,
// or it is shorter).
struct ClearRequest {
    std::uint64_t block = 0;  // its address
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // limit: clear_bytes_max
};

inline constexpr std::uint64_t clear_bytes_max = 16ULL << 20;

// usage: no arguments; its result is a heap::Usage.
// in_use: no arguments; its result is two uint64: about how many bytes are in use, and the heap's
// limit. It reads one word for each area, where usage walks over all units.
// check: no arguments; its result is the first finding, as text; empty: there is none.

// lend: allocates a block for bytes in transit, which recovery frees if the process dies before the
// block is taken back or given to a container (heap/loans.hpp). Its result is a LentBlock.
struct LendRequest {
    std::uint64_t bytes = 0;
    std::uint64_t process = 0;  // the caller's
};

// The name of such a block in operations. take_back: its argument is one; it frees the block.
// Errors: stale (it is not on loan).
struct LentBlock {
    std::uint64_t address = 0;                 // 0: there was no room
    std::uint64_t process = NodeHeap::nobody;  // nobody: there was no room for the loan
};

// replace: a block on loan replaces another one of the same heap, which is freed. Its result is a
// heap::Freed, one byte; if that is not `done` nothing has changed. Errors: stale (like take_back).
struct ReplaceRequest {
    LentBlock lent;
    std::uint64_t old = 0;  // address
};

// Whether the job has heaps.
[[nodiscard]] bool has_heap(const local::OperationContext& context) noexcept;

// The offset of an address in the heap of a process of this node; heap::no_block: it is no address
// of it.
[[nodiscard]] heap::Offset offset_in_heap(const local::Space& space,
                                          std::uint32_t process,
                                          memory::GlobalAddress address) noexcept;

inline constexpr std::uint32_t operation_count = 11;

// The rows of this layer.
[[nodiscard]] const std::array<local::NumberedOperation, operation_count>& operations() noexcept;

}  // namespace acp::allocator
