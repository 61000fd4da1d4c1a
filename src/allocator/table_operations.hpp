// SPDX-License-Identifier: BSD-3-Clause
// The hash tables of a process's heap as numbered operations on whole tables, for callers of other
// nodes: the bytes of their arguments and results. allocator/entry_operations.hpp has the
// operations on entries. Each does a bounded amount of work. Any thread; see
// local/numbered_operation.hpp.
// Tests: tests/unit/allocator/table_operations_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "local/numbered_operation.hpp"

#include "allocator/node_tables.hpp"
#include "table/table.hpp"

namespace acp::allocator {

inline constexpr std::uint32_t table_make_number = 8;
inline constexpr std::uint32_t table_destroy_number = 9;
inline constexpr std::uint32_t table_give_number = 10;
inline constexpr std::uint32_t table_entries_number = 11;
inline constexpr std::uint32_t table_walk_number = 12;
inline constexpr std::uint32_t table_clear_number = 13;

// make. Its result is the address of the table, by which all other operations name it; 0: there is
// no room.
struct TableRequest {
    std::uint64_t slots = 1;     // 1 .. table_slots_max
    std::uint64_t may_grow = 1;  // 0 or 1
    std::uint64_t has_many = 0;  // 0 or 1: a key may have several entries
    std::uint64_t id = 0;
    std::uint64_t maker = NodeHeap::nobody;  // the caller; see table::TableShape
};

inline constexpr std::uint64_t table_slots_max = std::uint64_t{1} << 32;

// destroy, entries: the name of a table. The result of entries is how many there are, a uint64.
// Errors, here and in all operations below: stale (no table of this identity is there, or it was
// destroyed).
struct TableName {
    std::uint64_t table = 0;  // its address
    std::uint64_t id = 0;
};

// give: the table belongs to `to` from now on.
struct GiveRequest {
    TableName name;
    std::uint64_t to = 0;
};

// walk: entries behind a place, as many as fit. Its result is a WalkResult; then for each entry a
// WalkedEntry, and if wants_bytes its key and its value, except for an entry that does not fit into
// a whole result. clear: erases entries behind a place, a bounded number, also entries whose values
// are replaced during the call. Its result is a ClearResult.
struct WalkRequest {
    TableName name;
    table::WalkPlace after;
    std::uint32_t entries_max = 0;  // 0: any number
    std::uint32_t wants_bytes = 1;  // 0 or 1
};

struct WalkResult {
    table::WalkPlace after;
    std::uint32_t count = 0;
    std::uint32_t has_more = 0;
};

struct ClearResult {
    table::WalkPlace after;
    std::uint32_t has_room =
        1;  // 0: the next entry stays, because there is no memory to migrate its bucket
    std::uint32_t has_more = 1;
};

struct WalkedEntry {
    table::WalkPlace place;
    std::uint64_t record = 0;  // its address
    std::uint32_t key_bytes = 0;
    std::uint32_t value_bytes = 0;
    std::uint32_t has_bytes = 0;       // whether key and value follow
    std::uint32_t is_ended_count = 0;  // whether the value is table::ended_count
};

inline constexpr std::uint32_t table_operation_count = 6;

// The rows of this layer.
[[nodiscard]] const std::array<local::NumberedOperation, table_operation_count>&
table_operations() noexcept;

// The table at an address in the heap of a process of this node; 0: none can begin there.
[[nodiscard]] table::BlockNumber table_at(const local::Space& space,
                                          std::uint32_t process,
                                          memory::GlobalAddress address) noexcept;

// The address of a block of the heap of a process, and the block at one. 0: none, or it lies
// outside.
[[nodiscard]] inline memory::GlobalAddress address_of(const local::Space& space,
                                                      std::uint32_t process,
                                                      table::BlockNumber block) noexcept {
    return block == 0
               ? 0
               : space.claimed_address(process, node::Claim::heap_blocks) + table::offset_of(block);
}

}  // namespace acp::allocator
