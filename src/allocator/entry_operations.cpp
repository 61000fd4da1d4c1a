// SPDX-License-Identifier: BSD-3-Clause
// The checks of requests, and their execution on entries.
#include "allocator/entry_operations.hpp"

#include <cstddef>
#include <cstring>

#include "allocator/entry_batch.hpp"

namespace acp::allocator {

using base::Code;
using table::BlockNumber;
using table::Effect;
using Record = table::EntryRecord<std::atomic>;

namespace {

// The entries of a batch, one behind the other.
class PackedEntries {
public:
    //   call  its tail is sound, except in check_fields()
    explicit PackedEntries(const RunBatch::Call& call) noexcept
        : left_(call.tail), has_values_(stores_values(call->kind)) {}

    // false: the rest is malformed.
    bool take(EntryBatch::One& one) noexcept {
        BatchEntry entry;
        if (left_.size() < sizeof entry) return false;
        std::memcpy(&entry, left_.data(), sizeof entry);
        left_ = left_.subspan(sizeof entry);
        const std::uint64_t value_bytes = has_values_ ? entry.value_bytes : 0;
        if (left_.size() < entry.key_bytes + value_bytes) return false;
        const std::byte* const key = left_.data();
        one.key = {key, entry.key_bytes, entry.hash};
        one.value = {key + entry.key_bytes, entry.value_bytes};
        one.operand = entry.operand;
        left_ = left_.subspan(entry.key_bytes + value_bytes);
        return true;
    }

    [[nodiscard]] bool is_over() const noexcept { return left_.empty(); }

private:
    local::Bytes left_;
    bool has_values_;
};

}  // namespace

bool split_tail(const PutLengths& lengths, local::Bytes tail, PutTail& parts) noexcept {
    const auto [key, value, expected] = lengths;
    if (tail.size() != std::uint64_t{key} + value + expected) return false;
    parts.key = tail.first(key);
    parts.value = tail.subspan(key, value);
    parts.expected = tail.subspan(std::size_t{key} + value);
    return true;
}

Code PutBlock::on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept {
    if (!PutEntry::may_add(owner, table, call->put.mode)) return Code::argument;
    const BlockNumber block = owner.block_at(call->block.address);
    const std::uint64_t bytes =
        std::uint64_t{Record::head_bytes} + Record::rounded(call->value_bytes) + call->key_bytes;
    NodeHeap& heap = owner.tables().heap();
    if (block == 0 || heap.usable_bytes(table::offset_of(block)) < bytes ||
        !heap.end_loan(table::offset_of(block), call->block.process)) {
        return Code::address;
    }
    heap.own(table::offset_of(block));
    auto& record = owner.tables()->record(block);
    record.key_bytes = call->key_bytes;
    record.value_bytes = call->value_bytes;
    const table::PutEffect effect =
        owner.tables().put_with_room(table, {{record.key(), call->key_bytes, call->hash},
                                             {record.value(), call->value_bytes},
                                             call->put.mode,
                                             value_of(call.tail.expected),
                                             block});
    tell_put(owner, effect, reply);
    return Code::ok;
}

Code EraseEntry::on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept {
    reply->effect =
        owner.tables().with_room([&] { return owner.tables()->erase(table, key_of(call)); });
    return Code::ok;
}

Code ChangeEntry::on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept {
    reply.output = change_entry(owner.tables(), table, key_of(call), call->change);
    reply->record = owner.address_of(reply->record);
    return Code::ok;
}

Code ReadEntry::on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept {
    reply->effect = owner.tables()->find_record(
        table, call->hash, {owner.block_at(call->record), call->mark},
        [&](const char* value, std::uint32_t bytes, const table::RecordName& record) {
            tell_value(owner, call->value_bytes, {reinterpret_cast<const std::byte*>(value), bytes},
                       record, reply);
        });
    return Code::ok;
}

Code EraseRecord::on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept {
    reply->effect = owner.tables().with_room([&] {
        return owner.tables()->erase_record(table, call->hash,
                                            {owner.block_at(call->record), call->mark});
    });
    return Code::ok;
}

Code NextOfKey::on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept {
    reply->effect = Effect::absent;
    table::WalkPlace after = call->after;
    const auto visit = [&](const table::VisitedEntry& entry) {
        reply->effect = Effect::done;
        reply->place = entry.place;
        reply->value_bytes = entry.value_bytes;
        reply->record = owner.address_of(entry.record.block);
        reply->number = entry.record.mark;
        ++reply->entries;
        return reply->entries < call->value_bytes ? table::Visited::go_on
                                                  : table::Visited::stop_here;
    };
    const table::Walked walked =
        owner.tables()->walk_key(table, key_of(call), after, visit, call->value_bytes);
    if (walked == table::Walked::damaged) reply->effect = Effect::damaged;
    return Code::ok;
}

bool RunBatch::check_fields(const Call& call) noexcept {
    const std::uint32_t most = call->kind == BatchKind::find ? batch_max : batch_changes_max;
    if (call->kind > BatchKind::add_to_count || call->count > most) return false;
    PackedEntries entries(call);
    EntryBatch::One one;
    for (std::uint32_t i = 0; i < call->count; ++i) {
        if (!entries.take(one)) return false;
    }
    return entries.is_over();
}

Code RunBatch::on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept {
    PackedEntries entries(call);
    EntryBatch batch(call->kind);
    for (std::uint32_t i = 0; i < call->count; ++i) {
        if (!entries.take(batch.next())) return Code::argument;
        batch.add_next();
    }
    const std::size_t room_bytes = reply.tail.room().size();
    batch.run(owner.tables(), table, [&](std::uint32_t, EntryResult one, const char* value) {
        const std::size_t bytes = value != nullptr ? one.value_bytes : 0;
        const std::size_t left = reply.tail.room().size();
        if (left < sizeof one) return false;
        one.record = owner.address_of(one.record);
        one.is_whole = sizeof one + bytes <= left ? 1 : 0;
        // A value that fits into a result alone is left to the next operation.
        if (one.is_whole == 0 && sizeof one + bytes <= room_bytes) return false;
        (void)reply.tail.add(one);
        if (one.is_whole == 0 || value == nullptr) return true;
        std::memcpy(reply.tail.room().data(), value, bytes);
        reply.tail.advance(bytes);
        return true;
    });
    return Code::ok;
}

}  // namespace acp::allocator
