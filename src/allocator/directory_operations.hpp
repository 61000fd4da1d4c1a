// SPDX-License-Identifier: BSD-3-Clause
// The directories of hashed containers as numbered operations: making, first use, destroying. A directory lies in the heap of one process,
// with the addresses of its tables behind it; who uses the container reads it (data/directory.hpp). Any thread; as
// local/numbered_operation.hpp says. Tests: tests/unit/allocator/directory_operations_test.cpp.
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

// What two containers exchange: where the entries are, and how keys are hashed.
struct DirectoryBody {
    std::uint64_t id = 0;  // of the tables: table::identity
    std::uint64_t seed = 0;
    std::uint64_t slots = 0;  // of each table, at first
    std::uint64_t tables = 0;
    std::uint64_t list = 0;  // global address of so many addresses
    std::uint64_t room = 0;  // for so many there is room
    std::uint32_t hash = 0;  // a hash::HashFunction
    std::uint32_t unused = 0;
};

// What a directory is: begins as a table::DirectoryStart. `state`, `partner` and `partner_state`: data/directory_exchange.hpp.
struct DirectoryHead {
    std::uint64_t more = 0;  // link::to() the block of the first body's list, where it lies apart
    std::uint64_t mark = 0;  // mark_of_directories; before its first use: table/first_use.hpp
    std::uint64_t more_too = 0;  // as `more`, of the second body's
    std::uint64_t id = 0;        // of the container; with it its tables are made
    std::uint32_t kind = 0;
    std::uint32_t unused = 0;
    std::uint64_t partner = 0;  // address of another directory
    std::uint64_t partner_state = 0;
    std::uint64_t state = 0;  // which body is in use, and how far an exchange is
    std::array<DirectoryBody, 2> bodies{};

    static constexpr std::uint64_t mark_of_directories =
        table::DirectoryStart<std::atomic>::mark_of_directories;
};

static_assert(sizeof(DirectoryBody) == 56);
static_assert(sizeof(DirectoryHead) == 64 + 2 * sizeof(DirectoryBody));
static_assert(offsetof(DirectoryHead, more_too) ==
              offsetof(table::DirectoryStart<std::atomic>, more_too));
static_assert(offsetof(DirectoryHead, mark) == offsetof(table::DirectoryStart<std::atomic>, mark));

// make: both bodies get lists for the tables of the first one; what else DirectoryStart has, list and room are the operation's to set. Its
// result is the address of the directory; 0: there is no room.
struct DirectoryMake {
    DirectoryHead head;  // at most tables_max tables
    std::uint64_t maker = NodeHeap::nobody;
};

inline constexpr std::uint64_t tables_max = std::uint64_t{1}
                                            << 24;  // more than a job may have ranks

// use: it is in use from now on. destroy: frees it and its list. The argument of both is a DirectoryName. Errors: stale (no directory of
// this identity is there).
struct DirectoryName {
    std::uint64_t directory = 0;  // its address
    std::uint64_t id = 0;
};

inline constexpr std::uint32_t directory_operation_count = 3;

// The rows of this layer.
[[nodiscard]] const std::array<local::NumberedOperation, directory_operation_count>&
directory_operations() noexcept;

}  // namespace acp::allocator
