// SPDX-License-Identifier: BSD-3-Clause
// The checks of requests, and their execution on whole tables.
#include "allocator/table_operations.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/format.hpp"

#include "table/counting.hpp"

namespace acp::allocator {

using base::Code;
using memory::GlobalAddress;
using table::BlockNumber;
using table::Effect;
using table::Visited;
using table::VisitedEntry;

namespace {

// The most buckets that one operation visits or clears.
constexpr std::uint32_t buckets_max = 64;

// ClearTable returns once it has erased this number of entries.
constexpr std::uint32_t cleared_max = 256;

// Writes visited entries behind the output of a walk.
class WalkWriter {
public:
    WalkWriter(const HeapTables& owner, const WalkEntries::Call& call, WalkEntries::Reply& reply)
        : owner_(owner),
          reply_(reply),
          entries_max_(call->entries_max == 0 ? ~0U : call->entries_max),
          wants_bytes_(call->wants_bytes != 0) {}

    [[nodiscard]] bool is_full() const noexcept { return is_full_; }

    Visited visit(const VisitedEntry& entry) noexcept {
        const std::size_t bytes =
            wants_bytes_ ? std::size_t{entry.key_bytes} + entry.value_bytes : 0;
        is_full_ = sizeof(WalkedEntry) + bytes > reply_.tail.room().size();
        if (is_full_ && reply_->count != 0) return Visited::stop_before;
        const bool has_bytes = wants_bytes_ && !is_full_;
        (void)reply_.tail.add(WalkedEntry{
            entry.place, owner_.address_of(entry.record.block), entry.key_bytes, entry.value_bytes,
            entry.record.mark | (has_bytes ? WalkedEntry::bytes_follow : 0) |
                (table::is_ended_count(entry.value, entry.value_bytes) ? WalkedEntry::count_ended
                                                                       : 0)});
        if (has_bytes) {
            append(entry.key, entry.key_bytes);
            append(entry.value, entry.value_bytes);
        }
        ++reply_->count;
        is_full_ = is_full_ || reply_->count == entries_max_;
        return is_full_ ? Visited::stop_here : Visited::go_on;
    }

private:
    void append(const char* from, std::size_t bytes) noexcept {
        if (bytes != 0) std::memcpy(reply_.tail.room().data(), from, bytes);
        reply_.tail.advance(bytes);
    }

    const HeapTables& owner_;
    WalkEntries::Reply& reply_;
    std::uint32_t entries_max_;
    bool wants_bytes_;
    bool is_full_ = false;
};

}  // namespace

BlockNumber table_at(const local::Space& space,
                     std::uint32_t process,
                     GlobalAddress address) noexcept {
    const heap::Offset offset = offset_in_heap(space, process, address);
    const std::uint64_t heap_bytes = space.segment().shape().heap_bytes;
    if (offset == heap::no_block || offset % table::line_bytes != 0 ||
        heap_bytes - offset < sizeof(table::Head<std::atomic>)) {
        return 0;
    }
    return table::number_of(offset);
}

std::string table_named(const TableName& name) {
    return "the table is " + base::hex(name.table);
}

bool MakeTable::check_fields(const Call& call) noexcept {
    return call->may_grow <= 1 && call->has_many <= 1 && call->slots != 0 &&
           call->slots <= table_slots_max;
}

Code MakeTable::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    table::TableShape shape{call->slots, call->may_grow != 0, call->has_many != 0,
                            call->id,    call->maker,         0};
    if (call->memory.address != 0) {
        const BlockNumber made = owner.make_in(call->memory, shape);
        reply->table = owner.address_of(made);
        return made != 0 ? Code::ok : Code::stale;
    }
    if (owner.is_gateway() && table_bytes(call->slots) > clear_bytes_max) return Code::argument;
    BlockNumber made = 0;
    (void)owner.tables().with_room([&] {
        made = owner.tables()->make(shape);
        return made != 0 ? Effect::done : Effect::no_room;
    });
    owner.tables()->keep();
    reply->table = owner.address_of(made);
    return Code::ok;
}

BlockNumber OwnedTables::make_in(const LentBlock& memory, table::TableShape shape) {
    shape.block = at(memory.address);
    const heap::Offset block = table::offset_of(shape.block);
    const std::uint64_t bytes = table_bytes(shape.slots);
    NodeHeap::Borrowed borrowed(heap(), block, memory.process);
    if (shape.block == 0 || !borrowed.is_there() || heap().usable_bytes(block) < bytes) return 0;
    borrowed.own_whole(bytes);
    const BlockNumber made = tables()->make(shape);
    borrowed.give_away();
    return made;
}

bool OwnedTables::destroy(BlockNumber table, std::uint64_t id) {
    if (!is_gateway()) return tables().destroy(table, id);
    if (!tables().begin_to_destroy(table, id)) return false;
    run_later(local::operation_number<DestroyLater>);
    return true;
}

bool OwnedTables::destroy_more() {
    if (!is_gateway() || !tables().destroy_more()) return false;
    run_later(local::operation_number<DestroyLater>);
    return true;
}

Code DestroyTable::on(OwnedTables& owner, Block table, const Call& call, Reply& reply) noexcept {
    if (!owner.destroy(table, call->name.id)) return Code::stale;
    reply->has_more = owner.is_gateway() ? 1 : 0;
    return Code::ok;
}

Code DestroyMore::run(Owner& owner, const Call& call, Reply& reply) noexcept {
    const bool is_left =
        owner.destroy_more() && owner.tables().is_being_destroyed(owner.at(call->name.table));
    reply->has_more = is_left ? 1 : 0;
    return Code::ok;
}

Code DestroyLater::run(Owner& owner, const Call& /*call*/, Reply& /*reply*/) noexcept {
    (void)owner.destroy_more();
    return Code::ok;
}

Code GiveTable::on(HeapTables& owner, Block table, const Call& call, Reply& /*reply*/) noexcept {
    return owner.tables()->give(table, call->name.id, call->to) ? Code::ok : Code::stale;
}

Code CountEntries::on(HeapTables& owner, Block table, const Call& /*call*/, Reply& reply) noexcept {
    const std::optional<std::uint64_t> entries = owner.tables().entries(table);
    if (!entries) return Code::system;
    reply->entries = *entries;
    return Code::ok;
}

Code WalkEntries::on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept {
    WalkWriter writer(owner, call, reply);
    const auto visit = [&writer](const VisitedEntry& entry) { return writer.visit(entry); };
    reply->after = call->after;
    for (std::uint32_t i = 0; i < buckets_max && reply->has_more != 0 && !writer.is_full(); ++i) {
        const table::Walked walked =
            owner.tables()->walk(table, reply->after, visit, call->entries_max == 1);
        if (walked == table::Walked::damaged) return Code::system;
        reply->has_more = walked == table::Walked::more ? 1 : 0;
    }
    return Code::ok;
}

// Notes the entries of a bucket, and erases them after the visit. If one of them has gone, or could
// not be erased, the bucket is visited again: the entry's value may have been replaced.
Code ClearTable::on(HeapTables& owner, Block table, const Call& call, Reply& reply) noexcept {
    reply->after = call->after;
    std::uint32_t erased = 0;
    for (std::uint32_t i = 0;
         i < buckets_max && erased < cleared_max && reply->has_more != 0 && reply->has_room != 0;
         ++i) {
        std::array<std::pair<std::uint64_t, table::RecordName>, 32>
            noted;  // NOLINT: written as far as read
        std::uint32_t count = 0;
        table::WalkPlace after = reply->after;
        const auto note = [&](const VisitedEntry& entry) {
            noted[count++] = {owner.tables()->hash_at(table, entry.place.position), entry.record};
            return count == noted.size() ? Visited::stop_here : Visited::go_on;
        };
        const table::Walked walked = owner.tables()->walk(table, after, note);
        if (walked == table::Walked::damaged) return Code::system;
        bool are_erased = true;
        for (std::uint32_t j = 0; j < count && reply->has_room != 0; ++j) {
            const Effect effect = owner.tables().with_room([&] {
                return owner.tables()->erase_record(table, noted[j].first, noted[j].second);
            });
            are_erased = are_erased && effect == Effect::done;
            if (effect == Effect::damaged) return Code::system;
            if (effect == Effect::no_room) reply->has_room = 0;
        }
        erased += count;
        if (!are_erased) continue;
        reply->after = after;
        reply->has_more = walked == table::Walked::more ? 1 : 0;
    }
    return Code::ok;
}

}  // namespace acp::allocator
