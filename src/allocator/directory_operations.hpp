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

// What a directory is: begins as a table::DirectoryStart.
struct DirectoryHead {
    std::uint64_t more = 0;  // link::to() the block of the list, where it lies apart
    std::uint64_t mark = 0;  // mark_of_directories; before its first use: table/first_use.hpp
    std::uint64_t id = 0;    // of the container, and of its tables
    std::uint32_t kind = 0;
    std::uint32_t hash = 0;  // a hash::HashFunction
    std::uint64_t seed = 0;
    std::uint64_t slots = 0;  // of each table, at first
    std::uint64_t tables = 0;
    std::uint64_t list = 0;  // global address of so many addresses
    std::uint64_t room = 0;  // for so many there is room

    static constexpr std::uint64_t mark_of_directories =
        table::DirectoryStart<std::atomic>::mark_of_directories;
};

static_assert(sizeof(DirectoryHead) == 72);
static_assert(offsetof(DirectoryHead, mark) == offsetof(table::DirectoryStart<std::atomic>, mark));

// make: more, mark, list and room of the head are the operation's to set. Its result is the address of the directory; 0: there is no room.
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
