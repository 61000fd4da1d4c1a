// SPDX-License-Identifier: BSD-3-Clause
// Reads the arguments, works on the table, writes the result.
#include "allocator/entry_operations.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/format.hpp"

#include "allocator/entry_batch.hpp"
#include "allocator/opened_tables.hpp"

namespace acp::allocator {

namespace {

using base::Code;
using local::NumberedOperation;
using local::OperationContext;
using memory::GlobalAddress;
using table::BlockNumber;
using table::Effect;
using table::EntryKey;
using table::EntryValue;
using table::PutMode;
using Ran = NumberedOperation::Ran;
using Record = table::EntryRecord<std::atomic>;

EntryKey key_of(const EntryRequest& request, OperationArguments key) noexcept {
    return {key.data(), request.key_bytes, request.hash};
}

EntryValue value_of(OperationArguments value) noexcept {
    return {value.data(), static_cast<std::uint32_t>(value.size())};
}

Ran told(OperationResult result, const EntryResult& head) noexcept {
    std::memcpy(result.data(), &head, sizeof head);
    return {Code::ok, sizeof head};
}

// An operation on one table: run(OpenedTables&, table).
template <typename Run>
Ran on_table(OperationContext& context, const TableName& name, const Run& run) noexcept {
    if (!has_heap(context)) return {Code::unsupported, 0};
    OpenedTables opened(context);
    const BlockNumber table = opened.table(name);
    if (table == 0) return {Code::stale, 0};
    return run(opened, table);
}

// Does so for operations that may also be issued without waiting: a missing table is an effect in
// the result, not a failed handle, and the reader of the result looks the table up again.
template <typename Run>
Ran on_table_or_told(OperationContext& context,
                     const TableName& name,
                     OperationResult result,
                     const Run& run) noexcept {
    const Ran ran = on_table(context, name, run);
    if (ran.code != Code::stale) return ran;
    EntryResult head;
    head.effect = Effect::no_table;
    return told(result, head);
}

// Writes a value behind the head of the result.
class ValueWriter {
public:
    ValueWriter(OpenedTables& opened, OperationResult result, std::uint64_t wanted) noexcept
        : opened_(opened), result_(result), wanted_(wanted) {}

    //   effect  of the find
    [[nodiscard]] Ran finish(Effect effect) noexcept {
        head_.effect = effect;
        std::memcpy(result_.data(), &head_, sizeof head_);
        return {Code::ok, static_cast<std::uint32_t>(sizeof head_ + written_)};
    }

    void operator()(const char* value, std::uint32_t bytes, BlockNumber record) noexcept {
        const std::size_t some = std::min<std::uint64_t>(bytes, wanted_);
        head_.value_bytes = bytes;
        head_.record = opened_.address(record);
        head_.is_whole = sizeof head_ + some <= result_.size() ? 1 : 0;
        if (head_.is_whole == 0) return;
        std::memcpy(result_.data() + sizeof head_, value, some);
        written_ = some;
    }

private:
    OpenedTables& opened_;
    OperationResult result_;
    std::uint64_t wanted_;
    EntryResult head_;
    std::size_t written_ = 0;
};

Ran run_find(OperationContext& context,
             OperationArguments arguments,
             OperationResult result) noexcept {
    EntryRequest request;
    if (!take(arguments, request) || arguments.size() != request.key_bytes) {
        return {Code::argument, 0};
    }
    return on_table_or_told(
        context, request.name, result, [&](OpenedTables& opened, BlockNumber table) {
            ValueWriter writer(opened, result, request.value_bytes);
            return writer.finish(
                opened.tables()->find(table, key_of(request, arguments),
                                      [&](const char* value, std::uint32_t bytes,
                                          BlockNumber record) { writer(value, bytes, record); }));
        });
}

Ran run_read(OperationContext& context,
             OperationArguments arguments,
             OperationResult result) noexcept {
    RecordRequest request;
    if (!take(arguments, request) || !arguments.empty()) return {Code::argument, 0};
    return on_table(context, request.name, [&](OpenedTables& opened, BlockNumber table) {
        ValueWriter writer(opened, result, request.value_bytes);
        return writer.finish(opened.tables()->find_record(
            table, request.hash, opened.block_at(request.record),
            [&](const char* value, std::uint32_t bytes, BlockNumber record) {
                writer(value, bytes, record);
            }));
    });
}

// Whether a table takes entries in this way: in a table of unique keys a second entry of a key would
// make walks contradict the table.
bool takes(OpenedTables& opened, BlockNumber table, PutMode mode) noexcept {
    return mode != PutMode::add || opened.tables()->has_many_of_a_key(table);
}

Ran put(OpenedTables& opened,
        BlockNumber table,
        const table::PutRequest& request,
        OperationResult result) noexcept {
    const table::PutEffect effect = opened.tables().put_with_room(table, request);
    EntryResult head;
    head.effect = effect.effect;
    head.was_there = effect.was_there ? 1 : 0;
    head.record = opened.address(effect.record);
    return told(result, head);
}

Ran run_put(OperationContext& context,
            OperationArguments arguments,
            OperationResult result) noexcept {
    EntryRequest request;
    PutWords words;
    OperationArguments key;
    OperationArguments value;
    OperationArguments expected;
    if (!take(arguments, request) || !take(arguments, words) || words.mode > PutMode::add ||
        !take(arguments, request.key_bytes, key) || !take(arguments, request.value_bytes, value) ||
        !take(arguments, words.expected_bytes, expected) || !arguments.empty()) {
        return {Code::argument, 0};
    }
    return on_table_or_told(
        context, request.name, result, [&](OpenedTables& opened, BlockNumber table) -> Ran {
            if (!takes(opened, table, words.mode)) return {Code::argument, 0};
            return put(opened, table,
                       {key_of(request, key), value_of(value), words.mode, value_of(expected), 0},
                       result);
        });
}

Ran run_put_block(OperationContext& context,
                  OperationArguments arguments,
                  OperationResult result) noexcept {
    EntryRequest request;
    BlockWords words;
    OperationArguments expected;
    if (!take(arguments, request) || !take(arguments, words) || words.put.mode > PutMode::add ||
        !take(arguments, words.put.expected_bytes, expected) || !arguments.empty()) {
        return {Code::argument, 0};
    }
    return on_table(context, request.name, [&](OpenedTables& opened, BlockNumber table) -> Ran {
        if (!takes(opened, table, words.put.mode)) return {Code::argument, 0};
        const BlockNumber block = opened.block_at(words.block.address);
        const std::uint64_t bytes = std::uint64_t{Record::head_bytes} +
                                    Record::rounded(request.value_bytes) + request.key_bytes;
        NodeHeap& heap = opened.heap();
        if (block == 0 || heap.usable_bytes(table::offset_of(block)) < bytes ||
            !heap.end_loan(table::offset_of(block), words.block.process)) {
            return {Code::address, 0};
        }
        heap.own(table::offset_of(block));
        auto& record = opened.tables()->record(block);
        record.key_bytes = request.key_bytes;
        record.value_bytes = request.value_bytes;
        return put(opened, table,
                   {{record.key(), request.key_bytes, request.hash},
                    {record.value(), request.value_bytes},
                    words.put.mode,
                    value_of(expected),
                    block},
                   result);
    });
}

Ran run_erase(OperationContext& context,
              OperationArguments arguments,
              OperationResult result) noexcept {
    EntryRequest request;
    if (!take(arguments, request) || arguments.size() != request.key_bytes) {
        return {Code::argument, 0};
    }
    return on_table_or_told(
        context, request.name, result, [&](OpenedTables& opened, BlockNumber table) {
            EntryResult head;
            head.effect = opened.tables().with_room(
                [&] { return opened.tables()->erase(table, key_of(request, arguments)); });
            return told(result, head);
        });
}

Ran run_erase_record(OperationContext& context,
                     OperationArguments arguments,
                     OperationResult result) noexcept {
    RecordRequest request;
    if (!take(arguments, request) || !arguments.empty()) return {Code::argument, 0};
    return on_table(context, request.name, [&](OpenedTables& opened, BlockNumber table) {
        EntryResult head;
        head.effect = opened.tables().with_room([&] {
            return opened.tables()->erase_record(table, request.hash,
                                                 opened.block_at(request.record));
        });
        return told(result, head);
    });
}

Ran run_change(OperationContext& context,
               OperationArguments arguments,
               OperationResult result) noexcept {
    EntryRequest request;
    ChangeWords words;
    if (!take(arguments, request) || !take(arguments, words) ||
        words.kind > ChangeKind::take_from_count || arguments.size() != request.key_bytes) {
        return {Code::argument, 0};
    }
    return on_table_or_told(
        context, request.name, result, [&](OpenedTables& opened, BlockNumber table) {
            EntryResult head =
                change_entry(opened.tables(), table, key_of(request, arguments), words);
            head.record = opened.address(head.record);
            return told(result, head);
        });
}

// Reads the entries of a batch. false: they are malformed.
bool read_entries(OperationArguments arguments, const BatchHead& head, EntryBatch& batch) noexcept {
    const bool has_value = head.kind == BatchKind::insert || head.kind == BatchKind::assign;
    for (std::uint32_t i = 0; i < head.count; ++i) {
        BatchEntry entry;
        OperationArguments key;
        OperationArguments value;
        if (!take(arguments, entry) || !take(arguments, entry.key_bytes, key) ||
            (has_value && !take(arguments, entry.value_bytes, value))) {
            return false;
        }
        EntryBatch::One& one = batch.next();
        one.key = {key.data(), entry.key_bytes, entry.hash};
        one.value = {value.data(), entry.value_bytes};
        one.operand = entry.operand;
        batch.add_next();
    }
    return arguments.empty();
}

Ran run_batch(OperationContext& context,
              OperationArguments arguments,
              OperationResult result) noexcept {
    BatchHead head;
    if (!take(arguments, head) || head.kind > BatchKind::add_to_count ||
        head.count > (head.kind == BatchKind::find ? batch_max : batch_changes_max)) {
        return {Code::argument, 0};
    }
    EntryBatch batch(head.kind);
    if (!read_entries(arguments, head, batch)) return {Code::argument, 0};
    return on_table(context, head.name, [&](OpenedTables& opened, BlockNumber table) -> Ran {
        std::size_t at = 0;
        batch.run(opened.tables(), table, [&](std::uint32_t, EntryResult one, const char* value) {
            const std::size_t bytes = value != nullptr ? one.value_bytes : 0;
            if (at + sizeof one > result.size()) return false;
            one.record = opened.address(one.record);
            one.is_whole = at + sizeof one + bytes <= result.size() ? 1 : 0;
            // A value that fits into a result alone is left to the next operation.
            if (one.is_whole == 0 && sizeof one + bytes <= result.size()) return false;
            std::memcpy(result.data() + at, &one, sizeof one);
            at += sizeof one;
            if (one.is_whole == 0 || value == nullptr) return true;
            std::memcpy(result.data() + at, value, bytes);
            at += bytes;
            return true;
        });
        return {Code::ok, static_cast<std::uint32_t>(at)};
    });
}

Ran run_next_of_key(OperationContext& context,
                    OperationArguments arguments,
                    OperationResult result) noexcept {
    EntryRequest request;
    NextWords after;
    if (!take(arguments, request) || !take(arguments, after) ||
        arguments.size() != request.key_bytes) {
        return {Code::argument, 0};
    }
    return on_table(context, request.name, [&](OpenedTables& opened, BlockNumber table) -> Ran {
        EntryResult head;
        head.effect = Effect::absent;
        const EntryKey key = key_of(request, arguments);
        const table::Walked walked =
            opened.tables()->walk_key(table, key, after, [&](const table::VisitedEntry& entry) {
                head.effect = Effect::done;
                head.value_bytes = entry.value_bytes;
                head.record = opened.address(entry.record);
                after = entry.place;
                return table::Visited::stop_here;
            });
        if (walked == table::Walked::damaged) head.effect = Effect::damaged;
        std::memcpy(result.data(), &head, sizeof head);
        std::memcpy(result.data() + sizeof head, &after, sizeof after);
        return {Code::ok, sizeof head + sizeof after};
    });
}

std::string places_of_entry(OperationArguments arguments) {
    GlobalAddress address = 0;
    if (!take(arguments, address)) return "no table";
    return "the table is " + base::hex(address);
}

}  // namespace

const std::array<NumberedOperation, entry_operation_count>& entry_operations() noexcept {
    constexpr std::uint32_t most = memory::invoke_bytes_max;
    constexpr std::uint32_t least = sizeof(EntryResult);
    static constexpr std::array<NumberedOperation, entry_operation_count> rows{{
        {entry_find_number, "a find", most, most, run_find, places_of_entry},
        {entry_put_number, "an insertion", most, least, run_put, places_of_entry},
        {entry_put_block_number, "an insertion", most, least, run_put_block, places_of_entry},
        {entry_erase_number, "an erasure", most, least, run_erase, places_of_entry},
        {entry_change_number, "a change of a value", most, least, run_change, places_of_entry},
        {entry_read_number, "reading an entry", sizeof(RecordRequest), most, run_read,
         places_of_entry},
        {entry_erase_record_number, "an erasure", sizeof(RecordRequest), least, run_erase_record,
         places_of_entry},
        {entry_batch_number, "calls on many keys", most, most, run_batch, places_of_entry},
        {entry_next_of_key_number, "finding the next of a key", most, least + sizeof(NextWords),
         run_next_of_key, places_of_entry},
    }};
    return rows;
}

}  // namespace acp::allocator
