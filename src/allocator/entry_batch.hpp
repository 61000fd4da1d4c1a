// SPDX-License-Identifier: BSD-3-Clause
// Runs calls on many keys of one table, in groups: during the work on one group the processor
// fetches the records of the next group, and the buckets of the group after that. For callers on
// the table's node, and for the gateway on behalf of other nodes. One thread.
// Tests: tests/unit/allocator/table_operations_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "allocator/entry_operations.hpp"
#include "allocator/node_tables.hpp"

namespace acp::allocator {

// A change of a value in place. EntryResult::record is a block number.
[[nodiscard]] inline EntryResult change_entry(NodeTables& tables,
                                              table::BlockNumber table,
                                              const table::EntryKey& key,
                                              const ChangeWords& words) {
    EntryResult told;
    told.value_bytes = sizeof(std::uint64_t);
    switch (words.kind) {
        case ChangeKind::fetch_add:
            told.effect = tables->fetch_add(table, key, words.operand, told.number);
            break;
        case ChangeKind::fetch_add_or_insert:
            told.effect = tables.with_room([&] {
                return tables->fetch_add_or_insert(table, key, words.operand, told.number);
            });
            break;
        case ChangeKind::compare_exchange:
            told.number = words.expected;
            told.effect = tables->compare_exchange(table, key, told.number, words.operand);
            break;
        case ChangeKind::add_to_count:
        case ChangeKind::take_from_count:
        case ChangeKind::count_and_mark: {
            const table::CountEffect effect = tables.with_room([&] {
                return words.kind != ChangeKind::take_from_count
                           ? tables->add(table, key, words.operand)
                           : tables->subtract(table, key, words.operand);
            });
            const bool is_marked =
                words.kind == ChangeKind::count_and_mark && effect.effect == table::Effect::done;
            told.effect = effect.effect;
            told.number = is_marked ? effect.record.mark : effect.count;
            told.record = effect.record.block;
            break;
        }
    }
    return told;
}

// An object that is constructed without being written.
template <typename T>
union Unwritten {
    Unwritten() noexcept {}  // NOLINT(modernize-use-equals-default): the default would be none

    T it;
};

class EntryBatch {
public:
    struct One {
        table::EntryKey key;
        table::EntryValue value;  // find: its length is the number of bytes wanted
        std::uint64_t operand = 0;
    };

    explicit EntryBatch(BatchKind kind) noexcept : kind_(kind) {}

    // The next call, to be filled in place: copying it just after its parts were stored would stall
    // the processor. Memory that it points to outlives run(). At most batch_max are added.
    [[nodiscard]] One& next() noexcept { return ones_.it[count_]; }

    void add_next() noexcept { ++count_; }

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

    void clear() noexcept { count_ = 0; }

    // Calls tell(index, EntryResult, const char* value) for each key, in order; EntryResult::record
    // is a block number, and the value of a successful find stays allocated during the call. A
    // callback that returns false ends the run: later keys are not processed.
    template <typename Tell>
    void run(NodeTables& tables, table::BlockNumber table, const Tell& tell) const {
        if (kind_ == BatchKind::find) {
            find_all(tables->finder(), table, tell);
            return;
        }
        if (stores_values(kind_)) return put_all(tables, table, tell);
        const table::Finder<> finder = tables->finder();
        run_in_groups(
            finder, table,
            [&](std::uint32_t i, const Spots& spots) {
                finder.prefetch_record(spots[i], ones_.it[i].key.hash);
            },
            [&](std::uint32_t i, const Spots& /*spots*/) {
                return run_one(tables, table, i, tell);
            });
    }

private:
    static constexpr std::uint32_t group = 16;

    using Spots = std::array<table::Spot<std::atomic>, batch_max>;

    // Prefetches the buckets two groups ahead, calls fetch(i, spots) for keys one group ahead, and
    // then work(i, spots), whose result false ends the run.
    template <typename Fetch, typename Work>
    [[gnu::always_inline]] void run_in_groups(const table::Finder<>& finder,
                                              table::BlockNumber table,
                                              const Fetch& fetch,
                                              const Work& work) const {
        Unwritten<Spots> unwritten;
        Spots& spots = unwritten.it;
        const auto for_group = [&](std::uint32_t first, const auto& call) {
            const std::uint32_t end = std::min(first + group, count_);
            for (std::uint32_t i = first; i < end; ++i) call(i);
        };
        table::KnownRoot<> known;
        const auto fetch_bucket = [&](std::uint32_t i) {
            spots[i] = finder.prefetch_bucket(known, table, ones_.it[i].key.hash);
        };
        const auto fetch_record = [&](std::uint32_t i) { fetch(i, spots); };
        for_group(0, fetch_bucket);
        for_group(group, fetch_bucket);
        for_group(0, fetch_record);
        for (std::uint32_t first = 0; first < count_; first += group) {
            for_group(first + group, fetch_record);
            for_group(first + 2 * group, fetch_bucket);
            const std::uint32_t end = std::min(first + group, count_);
            for (std::uint32_t i = first; i < end; ++i) {
                if (!work(i, spots)) return;
            }
        }
    }

    template <typename Tell>
    void find_all(const table::Finder<>& finder, table::BlockNumber table, const Tell& tell) const {
        Unwritten<std::array<table::Finder<>::Trail, batch_max>> unwritten;
        auto& trails = unwritten.it;
        run_in_groups(
            finder, table,
            [&](std::uint32_t i, const Spots& spots) {
                trails[i] = finder.follow(table, spots[i], ones_.it[i].key.hash);
            },
            [&](std::uint32_t i, const Spots& spots) {
                EntryResult told;
                bool goes_on = true;
                told.effect = finder.find_on(
                    table, spots[i], trails[i], ones_.it[i].key,
                    [&](const char* value, std::uint32_t bytes, const table::RecordName& record) {
                        told.value_bytes = bytes;
                        told.record = record.block;
                        told.number = record.mark;
                        goes_on = tell(i, told, value);
                    });
                if (told.effect == table::Effect::done) return goes_on;
                return tell(i, told, nullptr);
            });
    }

    // Out of line, so that it takes no registers from finds.
    template <typename Tell>
    [[gnu::noinline]] void put_all(NodeTables& tables,
                                   table::BlockNumber table,
                                   const Tell& tell) const {
        const bool is_insertion = kind_ == BatchKind::insert;
        const auto mode = is_insertion ? table::PutMode::insert : table::PutMode::assign;
        const table::Finder<> finder = tables->finder();
        auto puts = tables->put_batch(table);
        run_in_groups(
            finder, table,
            [&](std::uint32_t i, const Spots& spots) {
                // An insertion usually reads a record only if the key has an entry already.
                if (!is_insertion) finder.prefetch_record(spots[i], ones_.it[i].key.hash);
            },
            [&](std::uint32_t i, const Spots& /*spots*/) {
                const One& one = ones_.it[i];
                const table::PutEffect put = tables.with_room([&] {
                    return puts.put({one.key, one.value, mode, {}, 0});
                });
                EntryResult told;
                told.effect = put.effect;
                told.was_there = put.was_there ? 1 : 0;
                told.value_bytes = put.value_bytes;
                told.record = put.record.block;
                told.number = put.record.mark;
                return tell(i, told, nullptr);
            });
    }

    template <typename Tell>
    bool run_one(NodeTables& tables,
                 table::BlockNumber table,
                 std::uint32_t index,
                 const Tell& tell) const {
        const One& one = ones_.it[index];
        EntryResult told;
        if (kind_ == BatchKind::erase) {
            told.effect = tables.with_room([&] { return tables->erase(table, one.key); });
        } else {
            told = change_entry(tables, table, one.key,
                                {kind_ == BatchKind::add_to_count ? ChangeKind::add_to_count
                                                                  : ChangeKind::fetch_add_or_insert,
                                 one.operand, 0});
        }
        return tell(index, told, nullptr);
    }

    BatchKind kind_;
    std::uint32_t count_ = 0;
    Unwritten<std::array<One, batch_max>> ones_;
};

}  // namespace acp::allocator
