// SPDX-License-Identifier: BSD-3-Clause
// The hash tables of a process's heap as typed operations (local/typed_operation.hpp) on whole
// tables; allocator/entry_operations.hpp has those on entries. A process of the same node runs them
// itself, the gateway of the owner's node runs them for other nodes. Each does a bounded amount of
// work. Any thread.
// Tests: tests/unit/allocator/table_operations_test.cpp, tests/conformance/hashed_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "local/typed_operation.hpp"

#include "allocator/heap_operations.hpp"
#include "allocator/owned_tables.hpp"
#include "table/table.hpp"

namespace acp::allocator {

// How operations name a table.
struct TableName {
    std::uint64_t table = 0;  // its address
    std::uint64_t id = 0;     // its identity
};

// "the table is 0x..."
[[nodiscard]] std::string table_named(const TableName& name);

// The base of operations on one table: calls Operation::on(owner, table, call, reply) for the table
// that the input names. If none of this identity is there, an operation whose output has an effect
// returns table::Effect::no_table: it may be issued without waiting, and the reader of the result
// looks the table up again. The others return stale. Operation::check_fields(call), if there is one,
// checks the fields of a request.
template <typename Operation,
          typename InputType,
          typename OutputType,
          std::uint32_t tail_bytes = 0,
          std::uint32_t result_tail_bytes = 0,
          typename TailType = local::Bytes>
struct TableOperation : InHeapOperation<Operation,
                                        OwnedTables,
                                        InputType,
                                        OutputType,
                                        tail_bytes,
                                        result_tail_bytes,
                                        TailType> {
    using Block = table::BlockNumber;

    static base::Code run(OwnedTables& owner,
                          const local::OperationCall<InputType, TailType>& call,
                          local::OperationReply<OutputType>& reply) noexcept {
        const Block table = owner.at(call->name.table);
        if (table != 0 && owner.tables()->is_table(table, call->name.id)) [[likely]]
            return Operation::on(owner, table, call, reply);
        if constexpr (requires { reply->effect; }) {
            reply->effect = table::Effect::no_table;
            return base::Code::ok;
        }
        return base::Code::stale;
    }

    static std::string places_of(const InputType& input) { return table_named(input.name); }
};

inline constexpr std::uint64_t table_slots_max = std::uint64_t{1} << 32;

struct TableToMake {
    std::uint64_t slots = 1;     // 1 .. table_slots_max
    std::uint64_t may_grow = 1;  // 0 or 1
    std::uint64_t has_many = 0;  // 0 or 1: a key may have several entries
    std::uint64_t id = 0;
    std::uint64_t maker = NodeHeap::nobody;  // the caller; see table::TableShape
    // The table's memory, on loan to the caller, which has made it zero (ClearBlock); no address: the
    // operation allocates it. Needed for a table of another node whose memory exceeds
    // clear_bytes_max, because the gateway would clear it for too long.
    LentBlock memory = {};
};

// The bytes of the memory of a table.
[[nodiscard]] constexpr std::uint64_t table_bytes(std::uint64_t slots) noexcept {
    return table::Head<std::atomic>::bytes(slots);
}

struct MadeTable {
    memory::GlobalAddress table = 0;  // 0: there is no room
};

// Code stale: the memory is not on loan, or is shorter; argument: it is missing.
struct MakeTable : InHeapOperation<MakeTable, OwnedTables, TableToMake, MadeTable> {
    static constexpr local::OperationName name{"table.make", "making a table"};
    static bool check_fields(const Call& call) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// A request that names a table and nothing else.
struct OneTable {
    TableName name;
};

struct Destroyed {
    std::uint64_t has_more = 0;  // 1: blocks of the table are left
};

// The table is gone when this returns. A gateway frees its blocks in bounded parts: one at each
// DestroyMore, which the caller repeats while has_more, so that all are free when its call returns;
// and one in each of its later rounds, so that all become free also if the caller dies.
struct DestroyTable : TableOperation<DestroyTable, OneTable, Destroyed> {
    static constexpr local::OperationName name{"table.destroy", "destroying a table"};
    static base::Code on(OwnedTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

struct DestroyMore : InHeapOperation<DestroyMore, OwnedTables, OneTable, Destroyed> {
    static constexpr local::OperationName name{"table.destroy_more", "freeing destroyed tables"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// Frees such a part in a later round of the gateway.
struct DestroyLater : InHeapOperation<DestroyLater, OwnedTables, local::Nothing, local::Nothing> {
    static constexpr local::OperationName name{"table.destroy_later",
                                               "freeing destroyed tables later on"};
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// Finds out whether a table of this identity is there; this counts as its first use.
struct UseTable : TableOperation<UseTable, OneTable, local::Nothing> {
    static constexpr local::OperationName name{"table.use", "the first use of a table"};

    static base::Code on(HeapTables&, Block, const Call&, Reply&) noexcept {
        return base::Code::ok;
    }
};

struct TableToGive {
    TableName name;
    std::uint64_t to = 0;  // its identity from now on
};

struct GiveTable : TableOperation<GiveTable, TableToGive, local::Nothing> {
    static constexpr local::OperationName name{"table.give", "giving a table away"};
    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

struct TableCount {
    std::uint64_t entries = 0;
};

// Code system, here and below: the program has overwritten the table's words.
struct CountEntries : TableOperation<CountEntries, OneTable, TableCount> {
    static constexpr local::OperationName name{"table.entries", "counting entries"};
    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

struct WalkRequest {
    TableName name;
    table::WalkPlace after;
    std::uint32_t entries_max = 0;  // 0: any number
    std::uint32_t wants_bytes = 1;  // 0 or 1
};

struct WalkResult {
    table::WalkPlace after;
    std::uint32_t count = 0;
    std::uint32_t has_more = 1;
};

struct WalkedEntry {
    table::WalkPlace place;
    std::uint64_t record = 0;  // its address
    std::uint32_t key_bytes = 0;
    std::uint32_t value_bytes = 0;
    // mark of the record (table::RecordName), and the flags below: one word, which a walk stores in
    // one piece
    std::uint64_t mark_and_flags = 0;

    static constexpr std::uint64_t bytes_follow = std::uint64_t{1} << 62;
    static constexpr std::uint64_t count_ended = std::uint64_t{1} << 63;
    static_assert(table::claim::mark_mask < bytes_follow);

    [[nodiscard]] std::uint64_t mark() const noexcept {
        return mark_and_flags & table::claim::mark_mask;
    }

    // Whether key and value follow.
    [[nodiscard]] bool has_bytes() const noexcept { return (mark_and_flags & bytes_follow) != 0; }

    // Whether the value is table::ended_count.
    [[nodiscard]] bool is_ended_count() const noexcept {
        return (mark_and_flags & count_ended) != 0;
    }
};

// Visits entries behind a place, as many as fit: a WalkedEntry for each follows the output, and if
// wants_bytes its key and its value, except for an entry that does not fit into the whole room. The
// room has at least sizeof(WalkedEntry).
struct WalkEntries
    : TableOperation<WalkEntries, WalkRequest, WalkResult, 0, local::tail_most<WalkResult>> {
    static constexpr local::OperationName name{"table.walk", "a walk over a table"};

    static bool check_fields(const Call& call) noexcept { return call->wants_bytes <= 1; }

    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

struct TableToClear {
    TableName name;
    table::WalkPlace after;
};

struct ClearResult {
    table::WalkPlace after;
    // 0: the next entry stays, because there is no memory to migrate its bucket
    std::uint32_t has_room = 1;
    std::uint32_t has_more = 1;
};

// Erases entries behind a place, a bounded number, also entries whose values are replaced during
// the call.
struct ClearTable : TableOperation<ClearTable, TableToClear, ClearResult> {
    static constexpr local::OperationName name{"table.clear", "clearing a table"};
    static base::Code on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept;
};

// The rows of this layer's tables.
inline constexpr const auto& table_operations = local::rows_of<MakeTable,
                                                               DestroyTable,
                                                               DestroyMore,
                                                               DestroyLater,
                                                               UseTable,
                                                               GiveTable,
                                                               CountEntries,
                                                               WalkEntries,
                                                               ClearTable>;

}  // namespace acp::allocator
