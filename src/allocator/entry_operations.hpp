// SPDX-License-Identifier: BSD-3-Clause
// Entries of hash tables as typed operations (local/typed_operation.hpp): one entry, or many of one
// table at once. A key or value that does not fit into one request is first written into a block of
// the owner's heap, which PutBlock then makes an entry; for such a value FindEntry returns the
// record's address. Any thread.
// Tests: tests/unit/allocator/table_operations_test.cpp, tests/conformance/hashed_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "allocator/heap_operations.hpp"
#include "allocator/table_operations.hpp"

namespace acp::allocator {

// The fields with which operations on a key begin.
struct EntryRequest {
    TableName name;
    std::uint64_t hash = 0;
    std::uint32_t key_bytes = 0;
    // put: length of the value; find: number of bytes wanted; the next entries of a key: how many are
    // wanted, 1 .. key_entries_max
    std::uint32_t value_bytes = 0;
};

// The key that follows such an input.
struct KeyTail {
    local::Bytes key = {};

    [[nodiscard]] local::TailParts parts() const noexcept { return {key}; }
};

// The byte strings that follow the input of a put.
struct PutTail {
    local::Bytes key = {};
    local::Bytes value = {};
    local::Bytes expected = {};

    [[nodiscard]] local::TailParts parts() const noexcept { return {key, value, expected}; }

    [[nodiscard]] std::size_t bytes() const noexcept {
        return key.size() + value.size() + expected.size();
    }
};

// The output of operations on an entry.
struct EntryResult {
    table::Effect effect = table::Effect::done;
    std::uint8_t is_whole = 1;   // find, read: whether the value, up to the bytes wanted, follows
    std::uint8_t was_there = 0;  // put: table::PutEffect::was_there
    std::uint8_t reserved = 0;
    std::uint32_t value_bytes = 0;  // length of the entry's whole value
    std::uint64_t record = 0;       // address of the entry's record; 0: there is none
    // change: the earlier value, or the new count; find, read, put, count_and_mark: the mark of
    // the record (table::RecordName)
    std::uint64_t number = 0;
};

// The lengths of the byte strings of a PutTail.
using PutLengths = std::array<std::uint32_t, 3>;

// Divides the tail of a put. false: it has another length.
[[nodiscard]] bool split_tail(const PutLengths& lengths,
                              local::Bytes tail,
                              PutTail& parts) noexcept;

// The base of operations on a key. The tail of a request is the key, unless Operation::lengths(input)
// gives the lengths of a PutTail.
template <typename Operation,
          typename InputType,
          typename OutputType = EntryResult,
          std::uint32_t result_tail_bytes = 0,
          typename TailType = KeyTail>
struct EntryOperation : TableOperation<Operation,
                                       InputType,
                                       OutputType,
                                       local::tail_most<InputType>,
                                       result_tail_bytes,
                                       TailType> {
    using Tail = TailType;

    static bool split(const InputType& input, local::Bytes tail, Tail& parts) noexcept {
        if constexpr (requires { Operation::lengths(input); }) {
            return split_tail(Operation::lengths(input), tail, parts);
        } else {
            parts.key = tail;
            return tail.size() == input.key_bytes;
        }
    }
};

// The key of a request, in the table's form.
template <typename Call>
[[nodiscard, gnu::always_inline]] inline table::EntryKey key_of(const Call& call) noexcept {
    return {call.tail.key.data(), static_cast<std::uint32_t>(call.tail.key.size()), call->hash};
}

[[nodiscard]] inline table::EntryValue value_of(local::Bytes value) noexcept {
    return {value.data(), static_cast<std::uint32_t>(value.size())};
}

// Returns the first bytes of a value, and the entry.   wanted  how many bytes of the value
template <typename Owner>
[[gnu::always_inline]] inline void tell_value(const Owner& owner,
                                              std::uint64_t wanted,
                                              local::Bytes value,
                                              const table::RecordName& record,
                                              local::OperationReply<EntryResult>& reply) noexcept {
    const std::size_t some = std::min<std::uint64_t>(value.size(), wanted);
    reply->value_bytes = static_cast<std::uint32_t>(value.size());
    reply->record = owner.address_of(record.block);
    reply->number = record.mark;
    reply->is_whole = some <= reply.tail.room().size() ? 1 : 0;
    if (reply->is_whole == 0) [[unlikely]]
        return;
    if (some != 0) std::memcpy(reply.tail.room().data(), value.data(), some);
    reply.tail.advance(some);
}

// Finds a key. Its value, up to the bytes wanted, follows the output where is_whole.
struct FindEntry
    : EntryOperation<FindEntry, EntryRequest, EntryResult, local::tail_most<EntryResult>> {
    static constexpr local::OperationName name{"entry.find", "a find"};

    //   Where  HeapTables, or TablesOf<NodeFinder>
    template <typename Where>
    [[gnu::always_inline]] static base::Code on(Where& owner,
                                                Block table,
                                                const Call& call,
                                                Reply& reply) noexcept {
        // A lambda that refers to the request would keep the request in memory.
        const std::uint64_t wanted = call->value_bytes;
        reply->effect = owner.tables()->find(
            table, key_of(call),
            [&owner, &reply, wanted](const char* value, std::uint32_t bytes,
                                     const table::RecordName& record) {
                tell_value(owner, wanted, {reinterpret_cast<const std::byte*>(value), bytes},
                           record, reply);
            });
        return base::Code::ok;
    }
};

// Returns the result of a put, and the entry.
template <typename Owner>
[[gnu::always_inline]] inline void tell_put(const Owner& owner,
                                            const table::PutEffect& effect,
                                            local::OperationReply<EntryResult>& reply) noexcept {
    reply->effect = effect.effect;
    reply->was_there = effect.was_there ? 1 : 0;
    reply->value_bytes = effect.value_bytes;
    reply->record = owner.address_of(effect.record.block);
    reply->number = effect.record.mark;
}

struct PutWords {
    table::PutMode mode = table::PutMode::insert;
    std::array<std::uint8_t, 3> reserved{};
    std::uint32_t expected_bytes = 0;  // table::PutMode::replace
};

struct EntryToPut : EntryRequest {
    PutWords put;
};

// Inserts, assigns or replaces (table::Insertion::put). The tail is the key, the value, and the
// expected value. Code argument: the table takes no second entry of a key.
struct PutEntry : EntryOperation<PutEntry, EntryToPut, EntryResult, 0, PutTail> {
    static constexpr local::OperationName name{"entry.put", "an insertion"};

    static PutLengths lengths(const Input& input) noexcept {
        return {input.key_bytes, input.value_bytes, input.put.expected_bytes};
    }

    static bool check_fields(const Call& call) noexcept {
        return call->put.mode <= table::PutMode::add;
    }

    [[gnu::always_inline]] static base::Code on(HeapTables& owner,
                                                Block table,
                                                const Call& call,
                                                Reply& reply) noexcept {
        if (!may_add(owner, table, call->put.mode)) [[unlikely]]
            return base::Code::argument;
        const table::PutRequest request{key_of(call), value_of(call.tail.value), call->put.mode,
                                        value_of(call.tail.expected), 0};
        const table::PutEffect effect =
            owner.tables().with_room([&] { return owner.tables()->put(table, request); });
        tell_put(owner, effect, reply);
        return base::Code::ok;
    }

    // Whether a table takes entries in this way: in a table of unique keys a second entry of a key
    // would make walks contradict the table.
    static bool may_add(HeapTables& owner, Block table, table::PutMode mode) noexcept {
        return mode != table::PutMode::add || owner.tables()->has_many_of_a_key(table);
    }
};

struct BlockToPut : EntryRequest {
    PutWords put;
    LentBlock block;
};

// Does so with a key and a value that are laid out in a block like a record (table::EntryRecord); the
// tail is the expected value. The operation takes the block: it becomes the entry, or is freed. Code
// address: it is not on loan to the caller, or too short.
struct PutBlock : EntryOperation<PutBlock, BlockToPut, EntryResult, 0, PutTail> {
    static constexpr local::OperationName name{"entry.put_block", "an insertion"};

    static PutLengths lengths(const Input& input) noexcept {
        return {0, 0, input.put.expected_bytes};
    }

    static bool check_fields(const Call& call) noexcept {
        return call->put.mode <= table::PutMode::add;
    }

    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

struct EraseEntry : EntryOperation<EraseEntry, EntryRequest> {
    static constexpr local::OperationName name{"entry.erase", "an erasure"};
    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

enum class ChangeKind : std::uint64_t {
    fetch_add,            // done, absent, no_number
    fetch_add_or_insert,  // done, absent: inserted, no_number, no_room
    compare_exchange,     // done, present, absent, no_number
    add_to_count,         // Counting::add
    take_from_count,      // Counting::subtract; operand ~0: the whole count
    count_and_mark,       // Counting::add; the result has the entry's mark instead of its count
};

struct ChangeWords {
    ChangeKind kind = ChangeKind::fetch_add;
    std::uint64_t operand = 0;
    std::uint64_t expected = 0;
};

struct EntryToChange : EntryRequest {
    ChangeWords change;
};

// Changes a value of 8 bytes in place.
struct ChangeEntry : EntryOperation<ChangeEntry, EntryToChange> {
    static constexpr local::OperationName name{"entry.change", "a change of a value"};

    static bool check_fields(const Call& call) noexcept {
        return call->change.kind <= ChangeKind::count_and_mark;
    }

    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

// Names the entry of a record.
struct RecordRequest {
    TableName name;
    std::uint64_t hash = 0;  // hash of the entry's key
    std::uint64_t record = 0;
    std::uint64_t value_bytes = 0;  // number of bytes wanted
    std::uint64_t mark = 0;         // mark of the record
};

// Reads an entry like FindEntry.
struct ReadEntry
    : TableOperation<ReadEntry, RecordRequest, EntryResult, 0, local::tail_most<EntryResult>> {
    static constexpr local::OperationName name{"entry.read", "reading an entry"};
    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

struct EraseRecord : TableOperation<EraseRecord, RecordRequest, EntryResult> {
    static constexpr local::OperationName name{"entry.erase_record", "an erasure"};
    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

struct KeyWalk : EntryRequest {
    table::WalkPlace after;
};

struct NextFound : EntryResult {
    table::WalkPlace place;     // the place of that entry
    std::uint64_t entries = 0;  // how many were found
};

// The most entries that one operation finds: it passes once over the chain of the key's hash.
inline constexpr std::uint32_t key_entries_max = table::TableWalk<std::atomic>::collected_max;

// Finds the next entries of a key behind a place of a walk, and returns the last of them.
struct NextOfKey : EntryOperation<NextOfKey, KeyWalk, NextFound> {
    static constexpr local::OperationName name{"entry.next", "finding the next of a key"};

    static bool check_fields(const Call& call) noexcept {
        return call->value_bytes - 1 < key_entries_max;
    }

    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

enum class BatchKind : std::uint32_t {
    find,
    insert,
    assign,
    erase,
    fetch_add_or_insert,
    add_to_count,
};

[[nodiscard]] constexpr bool stores_values(BatchKind kind) noexcept {
    return kind == BatchKind::insert || kind == BatchKind::assign;
}

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

// Handles many entries of one table: the tail is a BatchEntry for each, its key, and its value
// (insert, assign). The result is an EntryResult for each entry that found room, followed by the
// value of a find where is_whole; the caller repeats the operation for the rest.
struct RunBatch : TableOperation<RunBatch,
                                 BatchHead,
                                 local::Nothing,
                                 local::tail_most<BatchHead>,
                                 memory::invoke_bytes_max> {
    static constexpr local::OperationName name{"entry.batch", "calls on many keys"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

// The rows of this layer's entries.
inline constexpr const auto& entry_operations = local::rows_of<FindEntry,
                                                               PutEntry,
                                                               PutBlock,
                                                               EraseEntry,
                                                               ChangeEntry,
                                                               ReadEntry,
                                                               EraseRecord,
                                                               RunBatch,
                                                               NextOfKey>;

}  // namespace acp::allocator
