// SPDX-License-Identifier: BSD-3-Clause
// The hash tables of a process's heap as numbered operations, for callers of other nodes: what they ask for and are told, as bytes. Keys
// and values that do not fit into one operation are the caller's business. Any thread; as local/numbered_operation.hpp says.
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
inline constexpr std::uint32_t table_find_number = 10;
inline constexpr std::uint32_t table_put_number = 11;
inline constexpr std::uint32_t table_erase_number = 12;
inline constexpr std::uint32_t table_change_number = 13;

// make. Its result is the address of the table, by which all others name it; 0: there is no room.
struct TableRequest {
    std::uint64_t slots = 1;     // 1 .. table_slots_max
    std::uint64_t may_grow = 1;  // 0 or 1
};

inline constexpr std::uint64_t table_slots_max = std::uint64_t{1} << 32;

// destroy: its argument is the address of a table. Errors, as of all that follows: stale (no table is there, or it was destroyed).

// The first bytes of the arguments of all operations on an entry.
struct EntryRequest {
    std::uint64_t table = 0;  // its address
    std::uint64_t hash = 0;
    std::uint32_t key_bytes = 0;
    std::uint32_t value_bytes = 0;  // put: of the value; find: what there is room for
};

// find: the key follows. Its result is an EntryResult, then the value, or as much of it as there is room for.
struct EntryResult {
    table::Effect effect = table::Effect::done;
    std::uint8_t is_whole = 1;
    std::uint16_t reserved = 0;
    std::uint32_t value_bytes = 0;  // of the whole value
};

// put: a PutMode, the key and the value follow. Its result is an effect, one byte.
enum class PutMode : std::uint64_t { insert, assign };

// erase: the key follows. Its result is an effect, one byte.

// change: a ChangeRequest and the key follow. Its result is an effect and what the value was, a ChangeResult.
struct ChangeRequest {
    std::uint64_t is_exchange = 0;  // 0: adds `operand`; 1: replaces `expected` by it
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;
};

struct ChangeResult {
    table::Effect effect = table::Effect::done;
    std::array<std::uint8_t, 7> reserved{};
    std::uint64_t old = 0;
};

inline constexpr std::uint32_t table_operation_count = 6;

// The rows of this layer.
[[nodiscard]] const std::array<local::NumberedOperation, table_operation_count>&
table_operations() noexcept;

// The table at an address in the heap of a process of this node; 0: none can begin there.
[[nodiscard]] table::BlockNumber table_at(const local::Space& space,
                                          std::uint32_t process,
                                          memory::GlobalAddress address) noexcept;

}  // namespace acp::allocator
