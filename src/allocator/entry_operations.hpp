// SPDX-License-Identifier: BSD-3-Clause
// Entries of hash tables as numbered operations, for callers of other nodes: one entry, or many of
// one table at once. A key or value that does not fit into one operation is first written into a
// block of the owner's heap, which put_block then makes an entry; for such a value find returns the
// record's address. Any thread; see local/numbered_operation.hpp.
// Tests: tests/unit/allocator/table_operations_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "allocator/heap_operations.hpp"
#include "allocator/table_operations.hpp"

namespace acp::allocator {

inline constexpr std::uint32_t entry_find_number = 14;
inline constexpr std::uint32_t entry_put_number = 15;
inline constexpr std::uint32_t entry_put_block_number = 16;
inline constexpr std::uint32_t entry_erase_number = 17;
inline constexpr std::uint32_t entry_change_number = 18;
inline constexpr std::uint32_t entry_read_number = 19;
inline constexpr std::uint32_t entry_erase_record_number = 20;
inline constexpr std::uint32_t entry_batch_number = 21;
inline constexpr std::uint32_t entry_next_of_key_number = 22;

// The first bytes of the arguments of operations on a key.
struct EntryRequest {
    TableName name;
    std::uint64_t hash = 0;
    std::uint32_t key_bytes = 0;
    std::uint32_t value_bytes = 0;  // put: length of the value; find: number of bytes wanted
};

// The first bytes of the result of all operations on an entry. If there is no such table, find,
// put, erase and change return table::Effect::no_table; the others fail: stale.
struct EntryResult {
    table::Effect effect = table::Effect::done;
    std::uint8_t is_whole = 1;   // find, read: whether the value, up to the bytes wanted, follows
    std::uint8_t was_there = 0;  // put: table::PutEffect::was_there
    std::uint8_t reserved = 0;
    std::uint32_t value_bytes = 0;  // length of the whole value
    std::uint64_t record = 0;       // address of the entry's record; 0: there is none
    std::uint64_t number = 0;       // change: the earlier value, or the new count
};

// find: a request and the key. Its result is an EntryResult, and the value where is_whole.
// erase: a request and the key.

// put: a request, these words, the key, the value, and the expected value.
struct PutWords {
    table::PutMode mode = table::PutMode::insert;
    std::array<std::uint8_t, 3> reserved{};
    std::uint32_t expected_bytes = 0;  // table::PutMode::replace
};

// put_block: a request whose key and value are laid out in a block like a record
// (table::EntryRecord), these words, and the expected value. The operation takes the block: it
// becomes the entry, or is freed. Errors: address (it is not on loan to the caller, or too short).
struct BlockWords {
    PutWords put;
    LentBlock block;
};

// change: a request, these words, and the key.
enum class ChangeKind : std::uint64_t {
    fetch_add,            // done, absent, no_number
    fetch_add_or_insert,  // done, absent: inserted, no_number, no_room
    compare_exchange,     // done, present, absent, no_number
    add_to_count,         // Counting::add
    take_from_count,      // Counting::subtract; operand ~0: the whole count
};

struct ChangeWords {
    ChangeKind kind = ChangeKind::fetch_add;
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;
};

// read, erase_record: the entry of a record. read: its result is an EntryResult, and the value
// where is_whole.
struct RecordRequest {
    TableName name;
    std::uint64_t hash = 0;  // hash of the entry's key
    std::uint64_t record = 0;
    std::uint64_t value_bytes = 0;  // number of bytes wanted
};

// next_of_key: a request, the place of a walk, and the key: finds the key's next entry behind that
// place. Its result is an EntryResult, and the place of the entry.
using NextWords = table::WalkPlace;

enum class BatchKind : std::uint32_t {
    find,
    insert,
    assign,
    erase,
    fetch_add_or_insert,
    add_to_count,
};

// batch: many entries of one table. Its arguments are a BatchHead, and for each entry a BatchEntry,
// its key, and its value (insert, assign). Its result is an EntryResult for each entry that found
// room, followed by the value of a find where is_whole; the caller repeats the operation for the
// rest.
struct BatchHead {
    TableName name;
    BatchKind kind = BatchKind::find;
    std::uint32_t count = 0;  // limit: batch_max, for changes batch_changes_max
};

struct BatchEntry {
    std::uint64_t hash = 0;
    std::uint64_t operand = 0;  // the addend
    std::uint32_t key_bytes = 0;
    std::uint32_t value_bytes = 0;  // insert, assign: length of the value
};

inline constexpr std::uint32_t batch_max = 64;
// The result of each change must fit into the same operation, so a batch has no more than this.
inline constexpr std::uint32_t batch_changes_max = memory::invoke_bytes_max / sizeof(EntryResult);

inline constexpr std::uint32_t entry_operation_count = 9;

// The rows of this layer.
[[nodiscard]] const std::array<local::NumberedOperation, entry_operation_count>&
entry_operations() noexcept;

}  // namespace acp::allocator
