// SPDX-License-Identifier: BSD-3-Clause
// Calls on many keys of one table, run in groups: while it works on one, the processor fetches the records of the next group, and the
// buckets of the one behind that.
// For a caller on its own node, and for the gateway on behalf of others. One thread.
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
        case ChangeKind::take_from_count: {
            const table::CountEffect effect = tables.with_room([&] {
                return words.kind == ChangeKind::add_to_count
                           ? tables->add(table, key, words.operand)
                           : tables->subtract(table, key, words.operand);
            });
            told.effect = effect.effect;
            told.number = effect.count;
            told.record = effect.record;
            break;
        }
    }
    return told;
}

class EntryBatch {
public:
    struct One {
        table::EntryKey key;
        table::EntryValue value;  // find: how many of its bytes are wanted
        std::uint64_t operand = 0;
    };

    explicit EntryBatch(BatchKind kind) noexcept : kind_(kind) {}

    // At most batch_max times. What it points to outlives run().
    void add(const One& one) noexcept { ones_[count_++] = one; }

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

    void clear() noexcept { count_ = 0; }

    // Calls tell(index, EntryResult, const char* value) for each, in order; EntryResult::record is a block number, and the value is
    // there while tell() runs, of a find that found one. tell() returns false to end: what comes behind is not done.
    template <typename Tell>
    void run(NodeTables& tables, table::BlockNumber table, const Tell& tell) const {
        Spots spots;  // NOLINT: written as far as read
        prefetch_buckets(tables, table, 0, spots);
        prefetch_buckets(tables, table, group, spots);
        prefetch_records(tables, 0, spots);
        for (std::uint32_t first = 0; first < count_; first += group) {
            prefetch_records(tables, first + group, spots);
            prefetch_buckets(tables, table, first + 2 * group, spots);
            for (std::uint32_t i = first; i < end_of_group(first); ++i) {
                if (!run_one(tables, table, i, tell)) return;
            }
        }
    }

private:
    static constexpr std::uint32_t group = 16;

    using Spots = std::array<table::Spot<std::atomic>, batch_max>;

    [[nodiscard]] std::uint32_t end_of_group(std::uint32_t first) const noexcept {
        return std::min(first + group, count_);
    }

    void prefetch_buckets(NodeTables& tables,
                          table::BlockNumber table,
                          std::uint32_t first,
                          Spots& spots) const noexcept {
        for (std::uint32_t i = first; i < end_of_group(first); ++i)
            spots[i] = tables->prefetch_bucket(table, ones_[i].key.hash);
    }

    void prefetch_records(NodeTables& tables,
                          std::uint32_t first,
                          const Spots& spots) const noexcept {
        for (std::uint32_t i = first; i < end_of_group(first); ++i)
            tables->prefetch_record(spots[i], ones_[i].key.hash);
    }

    template <typename Tell>
    bool run_one(NodeTables& tables,
                 table::BlockNumber table,
                 std::uint32_t index,
                 const Tell& tell) const {
        const One& one = ones_[index];
        EntryResult told;
        if (kind_ == BatchKind::find) {
            bool goes_on = true;
            const bool is_there = tables->find(
                table, one.key,
                [&](const char* value, std::uint32_t bytes, table::BlockNumber record) {
                    told.value_bytes = bytes;
                    told.record = record;
                    goes_on = tell(index, told, value);
                });
            told.effect = table::Effect::absent;
            return is_there ? goes_on : tell(index, told, nullptr);
        }
        if (kind_ == BatchKind::erase) {
            told.effect = tables.with_room([&] { return tables->erase(table, one.key); });
        } else if (kind_ == BatchKind::insert || kind_ == BatchKind::assign) {
            const auto mode =
                kind_ == BatchKind::insert ? table::PutMode::insert : table::PutMode::assign;
            const table::PutEffect put = tables.with_room([&] {
                return tables->put(table, {one.key, one.value, mode, {}, 0});
            });
            told.effect = put.effect;
            told.record = put.record;
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
    std::array<One, batch_max> ones_;  // NOLINT: written as far as read
};

}  // namespace acp::allocator
