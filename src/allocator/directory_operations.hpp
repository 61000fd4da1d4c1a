// SPDX-License-Identifier: BSD-3-Clause
// The directories of hashed containers as numbered operations: making, first use, destroying. A
// directory lies in the heap of one process, with the addresses of its tables behind it; a process
// that uses the container reads it (data/directory.hpp). Any thread; see
// local/numbered_operation.hpp. Tests: tests/unit/allocator/directory_operations_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "local/numbered_operation.hpp"

#include "allocator/node_heap.hpp"
#include "table/layout.hpp"

namespace acp::allocator {

inline constexpr std::uint32_t directory_make_number = 41;
inline constexpr std::uint32_t directory_use_number = 42;
inline constexpr std::uint32_t directory_destroy_number = 43;

// The part that two containers swap: the tables of the entries, and how keys are hashed.
struct DirectoryBody {
    std::uint64_t id = 0;  // identity of the tables: table::identity
    std::uint64_t seed = 0;
    std::uint64_t slots = 0;  // initial number per table
    std::uint64_t tables = 0;
    std::uint64_t list = 0;  // global address of an array of `tables` addresses
    std::uint64_t room = 0;  // capacity of that array
    std::uint32_t hash = 0;  // a hash::HashFunction
    std::uint32_t unused = 0;
};

// A directory in memory; begins like a table::DirectoryStart. `state`, `partner` and
// `partner_state`: data/directory_exchange.hpp.
struct DirectoryHead {
    std::uint64_t more =
        0;  // link::to() the block of the first body's list, if that is a separate block
    std::uint64_t mark = 0;      // mark_of_directories; before its first use: table/first_use.hpp
    std::uint64_t more_too = 0;  // the same for the second body's list
    std::uint64_t id = 0;        // identity of the container, with which its tables are made
    std::uint32_t kind = 0;
    std::uint32_t unused = 0;
    std::uint64_t partner = 0;  // address of another directory
    std::uint64_t partner_state = 0;
    std::uint64_t state = 0;  // which body is in use, and the progress of a swap
    std::array<DirectoryBody, 2> bodies{};

    static constexpr std::uint64_t mark_of_directories =
        table::DirectoryStart<std::atomic>::mark_of_directories;
};

static_assert(sizeof(DirectoryBody) == 56);
static_assert(sizeof(DirectoryHead) == 64 + 2 * sizeof(DirectoryBody));
static_assert(offsetof(DirectoryHead, more_too) ==
              offsetof(table::DirectoryStart<std::atomic>, more_too));
static_assert(offsetof(DirectoryHead, mark) == offsetof(table::DirectoryStart<std::atomic>, mark));

// make: both bodies get lists with room for the tables of the first one; the operation sets list
// and room, and the words of DirectoryStart. Its result is the address of the directory; 0: there
// is no room.
struct DirectoryMake {
    DirectoryHead head;  // has tables_max tables at most
    std::uint64_t maker = NodeHeap::nobody;
};

inline constexpr std::uint64_t tables_max = std::uint64_t{1}
                                            << 24;  // more than a job may have ranks

// use: counts as the first use of the directory. destroy: frees the directory and its lists. The
// argument of both is a DirectoryName. Errors: stale (no directory of this identity is there).
struct DirectoryName {
    std::uint64_t directory = 0;  // its address
    std::uint64_t id = 0;
};

inline constexpr std::uint32_t directory_operation_count = 3;

// The rows of this layer.
[[nodiscard]] const std::array<local::NumberedOperation, directory_operation_count>&
directory_operations() noexcept;

}  // namespace acp::allocator
