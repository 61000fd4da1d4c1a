// SPDX-License-Identifier: BSD-3-Clause
// The operations on hash tables as bytes, which may come from another node: valid arguments have
// their effect, malformed ones are refused and change nothing.
#include "allocator/table_operations.hpp"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "allocator/entry_operations.hpp"
#include "allocator/heap_operations.hpp"
#include "unit/allocator/table_operations_fixture.hpp"

namespace acp::allocator::test {
namespace {

std::array<std::span<const local::NumberedOperation>, 2> rows_of_tables() {
    return {table_operations, entry_operations};
}

TEST_F(TableOperationsTest, insert_find_replace_and_erase) {
    const std::uint64_t table = make();
    EXPECT_EQ(put(table, "a", "first", PutMode::insert), Effect::done);
    EXPECT_EQ(put(table, "a", "second", PutMode::insert), Effect::present);
    EXPECT_EQ(find(table, "a").effect, Effect::done);
    EXPECT_EQ(value_found(), "first");
    EXPECT_EQ(put(table, "a", "second", PutMode::assign), Effect::done);
    EXPECT_EQ(put(table, "a", "third", PutMode::replace, "first"), Effect::present);
    EXPECT_EQ(put(table, "b", "third", PutMode::replace, "first"), Effect::absent);
    const EntryResult cut = find(table, "a", 3);
    EXPECT_EQ(cut.value_bytes, 6U);
    EXPECT_EQ(cut.is_whole, 1) << "as much as was wanted";
    EXPECT_EQ(value_found(), "sec");
    EXPECT_EQ(put(table, "a", "third", PutMode::replace, "second"), Effect::done);
    (void)find(table, "a");
    EXPECT_EQ(value_found(), "third");
    EXPECT_EQ(erase(table, "a"), Effect::done);
    EXPECT_EQ(erase(table, "a"), Effect::absent);
    EXPECT_EQ(find(table, "a").effect, Effect::absent);
    EXPECT_EQ(destroy(table), Code::ok);
}

TEST_F(TableOperationsTest, change_numbers_and_counts) {
    const std::uint64_t table = make();
    EXPECT_EQ(change(table, "n", {ChangeKind::fetch_add, 5, 0}).effect, Effect::absent);
    EXPECT_EQ(change(table, "n", {ChangeKind::fetch_add_or_insert, 5, 0}).effect, Effect::absent);
    EXPECT_EQ(change(table, "n", {ChangeKind::fetch_add, 2, 0}).number, 5U);
    const EntryResult refused = change(table, "n", {ChangeKind::compare_exchange, 100, 6});
    EXPECT_EQ(refused.effect, Effect::present);
    EXPECT_EQ(refused.number, 7U);
    EXPECT_EQ(change(table, "n", {ChangeKind::compare_exchange, 100, 7}).effect, Effect::done);
    EXPECT_EQ(change(table, "n", {ChangeKind::fetch_add_or_insert, 0, 0}).number, 100U);
    EXPECT_EQ(change(table, "c", {ChangeKind::add_to_count, 3, 0}).number, 3U);
    EXPECT_NE(change(table, "c", {ChangeKind::add_to_count, 1, 0}).record, 0U);
    EXPECT_EQ(change(table, "c", {ChangeKind::take_from_count, 1, 0}).number, 3U);
    const EntryResult marked = change(table, "c", {ChangeKind::count_and_mark, 1, 0});
    EXPECT_EQ(marked.number, find(table, "c").number) << "the mark of its record";
    EXPECT_EQ(change(table, "c", {ChangeKind::take_from_count, ~0ULL, 0}).effect, Effect::done);
    EXPECT_EQ(find(table, "c").effect, Effect::absent);
}

TEST_F(TableOperationsTest, entries_are_read_and_erased_by_their_records) {
    const std::uint64_t table = make();
    ASSERT_EQ(put(table, "a", "value", PutMode::insert), Effect::done);
    const EntryResult found = find(table, "a");
    const RecordRequest request{{table, id}, hash_of("a"), found.record, 3, found.number};
    ASSERT_NE(request.record, 0U);
    RecordRequest other = request;
    ++other.mark;
    ASSERT_EQ(run<EraseRecord>(Message().add(other)), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::absent) << "the record has another mark";
    ASSERT_EQ(run<ReadEntry>(Message().add(request)), Code::ok);
    EXPECT_EQ(value_found(), "val");
    EXPECT_EQ(told<EntryResult>().value_bytes, 5U);
    ASSERT_EQ(run<EraseRecord>(Message().add(request)), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::done);
    ASSERT_EQ(run<EraseRecord>(Message().add(request)), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::absent);
    ASSERT_EQ(run<ReadEntry>(Message().add(request)), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::absent);
}

TEST_F(TableOperationsTest, a_walk_returns_every_entry_and_clearing_leaves_none) {
    const std::uint64_t table = make(2);
    std::set<std::string> keys;
    for (int i = 0; i < 100; ++i) {
        keys.insert("key " + std::to_string(i));
        ASSERT_EQ(put(table, "key " + std::to_string(i), std::string(i == 7 ? 960 : 20, 'v'),
                      PutMode::insert),
                  Effect::done);
    }
    std::set<std::string> told_keys;
    std::uint32_t without_bytes = 0;
    WalkRequest request{{table, id}, {}};
    for (WalkResult head{{}, 0, 1}; head.has_more != 0; request.after = head.after) {
        ASSERT_EQ(run<WalkEntries>(Message().add(request)), Code::ok);
        head = told<WalkResult>();
        std::size_t at = sizeof head;
        for (std::uint32_t i = 0; i < head.count; ++i) {
            WalkedEntry entry;
            std::memcpy(&entry, result_.data() + at, sizeof entry);
            at += sizeof entry;
            if (!entry.has_bytes()) {
                ++without_bytes;
                EXPECT_EQ(entry.value_bytes, 960U);
                told_keys.insert("key 7");
                continue;
            }
            EXPECT_TRUE(
                told_keys
                    .emplace(reinterpret_cast<const char*>(result_.data()) + at, entry.key_bytes)
                    .second);
            at += std::size_t{entry.key_bytes} + entry.value_bytes;
        }
        ASSERT_EQ(at, result_.size());
    }
    EXPECT_EQ(told_keys, keys);
    EXPECT_EQ(without_bytes, 1U);
    // At most 3 entries, and no bytes of them.
    request = {{table, id}, {}, 3, 0};
    std::size_t places = 0;
    for (WalkResult head{{}, 0, 1}; head.has_more != 0; request.after = head.after) {
        ASSERT_EQ(run<WalkEntries>(Message().add(request)), Code::ok);
        head = told<WalkResult>();
        ASSERT_LE(head.count, 3U);
        ASSERT_EQ(result_.size(), sizeof head + head.count * sizeof(WalkedEntry));
        places += head.count;
    }
    EXPECT_EQ(places, keys.size());
    TableToClear clearing{{table, id}, {}};
    for (ClearResult head; head.has_more != 0; clearing.after = head.after) {
        ASSERT_EQ(run<ClearTable>(Message().add(clearing)), Code::ok);
        head = told<ClearResult>();
        ASSERT_EQ(head.has_room, 1U);
    }
    ASSERT_EQ(run<CountEntries>(Message().add(TableName{table, id})), Code::ok);
    EXPECT_EQ(told<std::uint64_t>(), 0U);
}

TEST_F(TableOperationsTest, a_block_that_was_filled_becomes_an_entry_or_is_freed) {
    using Record = table::EntryRecord<std::atomic>;
    const std::uint64_t table = make();
    const std::string key = "key";
    const std::string value(2'000, 'v');
    const std::uint64_t start = owner_.space.claimed_address(0, node::heap_blocks);
    const auto put_block = [&](PutMode mode, std::uint64_t value_bytes) {
        EXPECT_EQ(run<AllocateBlocks>(
                      Message()
                          .add(std::uint64_t{alignment_least})
                          .add(Record::bytes(3, static_cast<std::uint32_t>(value.size())))),
                  Code::ok);
        BlockWords words{};
        words.put.mode = mode;
        words.block.address = told<std::uint64_t>();
        char* const place = node_.claimed(0, node::heap_blocks) + (words.block.address - start);
        std::memcpy(place + Record::head_bytes, value.data(), value.size());
        std::memcpy(place + Record::head_bytes + value.size(), key.data(), key.size());
        return run<PutBlock>(Message().add(request_of(table, key, value_bytes)).add(words));
    };
    ASSERT_EQ(put_block(PutMode::insert, value.size()), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::done);
    EXPECT_EQ(find(table, key).value_bytes, value.size());
    ASSERT_EQ(put_block(PutMode::insert, value.size()), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::present);
    ASSERT_EQ(put_block(PutMode::assign, value.size()), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::done);
    EXPECT_EQ(put_block(PutMode::insert, 100'000), Code::address) << "the block is not that long";
    EXPECT_EQ(destroy(table), Code::ok);
}

TEST_F(TableOperationsTest, many_entries_go_in_one_message) {
    const std::uint64_t table = make();
    const auto batch = [&](BatchKind kind, std::uint32_t count) {
        Message message;
        message.add(BatchHead{{table, id}, kind, count});
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::string key = "k" + std::to_string(i);
            const std::string value = kind == BatchKind::insert ? "v" + std::to_string(i) : "";
            message
                .add(BatchEntry{hash_of(key), 1, static_cast<std::uint32_t>(key.size()),
                                static_cast<std::uint32_t>(value.size())})
                .add_text(key)
                .add_text(value);
        }
        return run<RunBatch>(message);
    };
    ASSERT_EQ(batch(BatchKind::insert, 20), Code::ok);
    EXPECT_EQ(result_.size(), 20 * sizeof(EntryResult));
    ASSERT_EQ(batch(BatchKind::find, 21), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::done);
    EXPECT_EQ(result_.size(), 21 * sizeof(EntryResult) + 10 * 2 + 10 * 3);
    ASSERT_EQ(batch(BatchKind::erase, 20), Code::ok);
    ASSERT_EQ(batch(BatchKind::find, 1), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::absent);
    EXPECT_EQ(run<RunBatch>(
                  Message().add(BatchHead{{table, id}, BatchKind::insert, batch_changes_max + 1})),
              Code::argument);
}

TEST_F(TableOperationsTest, malformed_arguments_are_refused) {
    const std::uint64_t table = make();
    ASSERT_EQ(put(table, "key", "value", PutMode::insert), Effect::done);
    for (const auto& rows : rows_of_tables()) {
        for (const local::NumberedOperation& row : rows) {
            if (row.number == row_of<MakeTable>.number) continue;
            if (row.argument_bytes_max != 0) {
                EXPECT_EQ(run(row, Message()), Code::argument) << row.name;
            }
            EXPECT_EQ(run(row, Message().add(std::uint64_t{1})), Code::argument) << row.name;
            EntryRequest longer = request_of(table, "key", 5);
            longer.key_bytes = ~0U;
            EXPECT_EQ(run(row, Message().add(longer).add(ChangeWords()).add_text("key")),
                      Code::argument)
                << row.name;
            EXPECT_EQ(run(row, Message()
                                   .add(request_of(table, "key", 5))
                                   .add(ChangeWords())
                                   .add_text("key and more, 123456")),
                      Code::argument)
                << row.name;
        }
    }
    EXPECT_EQ(run<MakeTable>(Message().add(TableToMake{0, 1, 0, id})), Code::argument);
    EXPECT_EQ(run<MakeTable>(Message().add(TableToMake{1, 2, 0, id})), Code::argument);
    EXPECT_EQ(run<MakeTable>(Message().add(TableToMake{1, 1, 2, id})), Code::argument);
    EXPECT_EQ(run<MakeTable>(Message().add(TableToMake{table_slots_max + 1, 1, 0, id})),
              Code::argument);
    EXPECT_EQ(find(table, "key").effect, Effect::done);
}

TEST_F(TableOperationsTest, what_is_no_table_of_this_identity_is_stale) {
    const std::uint64_t other = make();
    const std::uint64_t table = make();
    ASSERT_EQ(destroy(table), Code::ok);
    EXPECT_EQ(run<GiveTable>(Message().add(TableToGive{{other, id}, id + 1})), Code::ok);
    const std::uint64_t start = owner_.space.claimed_address(0, node::heap_blocks);
    for (const std::uint64_t address :
         {table, table + 64, other, std::uint64_t{0}, start + heap_bytes - 64, ~std::uint64_t{0},
          owner_.space.claimed_address(1, node::heap_blocks)}) {
        EXPECT_EQ(destroy(address), Code::stale) << address;
        const RecordRequest record{{address, id}, 0, 0, 9};
        EXPECT_EQ(run<ReadEntry>(Message().add(record)), Code::ok);
        EXPECT_EQ(told<EntryResult>().effect, Effect::no_table);
        EXPECT_EQ(run<UseTable>(Message().add(OneTable{{address, id}})), Code::stale);
        EXPECT_EQ(find(address, "k").effect, Effect::no_table);
    }
    EXPECT_EQ(run<DestroyTable>(Message().add(TableName{other, id + 1})), Code::ok);
}

TEST_F(TableOperationsTest, a_table_larger_than_the_heap_is_not_made) {
    EXPECT_EQ(make(1U << 20), 0U);
    EXPECT_EQ(make(table_slots_max), 0U);
    EXPECT_NE(make(1U << 10), 0U);
}

TEST_F(TableOperationsTest, a_full_heap_is_reported_and_nothing_is_changed) {
    const std::uint64_t table = make();
    const std::string value(900, 'v');
    std::uint32_t count = 0;
    while (put(table, "key " + std::to_string(count), value, PutMode::insert) == Effect::done)
        ++count;
    EXPECT_EQ(told<EntryResult>().effect, Effect::no_room);
    EXPECT_GT(count, 1'000U);
    EXPECT_EQ(find(table, "key " + std::to_string(count)).effect, Effect::absent);
    for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(find(table, "key " + std::to_string(i), 900).effect, Effect::done) << i;
        ASSERT_EQ(value_found(), value);
    }
    EXPECT_EQ(destroy(table), Code::ok);
    EXPECT_NE(make(1U << 10), 0U);
}

// A gateway clears no long memory at once, because other nodes wait for its operations.
TEST_F(TableOperationsTest, of_a_gateway_make_a_long_table_in_memory_on_loan) {
    constexpr std::uint64_t slots = 1U << 15;
    constexpr std::uint64_t bytes = table_bytes(slots);
    static_assert(bytes > clear_bytes_max);
    TableToMake request{slots, 1, 0, id};
    thread_ = local::OperationContext::gateway_thread;
    EXPECT_EQ(run<MakeTable>(Message().add(request)), Code::argument);
    EXPECT_EQ(run<LendBlock>(Message().add(ToLend{bytes - 1, 0})), Code::ok);
    request.memory = told<LentBlock>();
    EXPECT_EQ(run<MakeTable>(Message().add(request)), Code::ok)
        << "blocks are longer than asked for";
    const auto destroy_wholly = [&](std::uint64_t table) {
        EXPECT_EQ(destroy(table), Code::ok);
        while (destroy_more(table) && told<Destroyed>().has_more != 0) {
        }
    };
    destroy_wholly(told<MadeTable>().table);
    EXPECT_EQ(run<MakeTable>(Message().add(request)), Code::stale) << "it was given away";
    EXPECT_EQ(run<LendBlock>(Message().add(ToLend{4096, 0})), Code::ok);
    request.memory = told<LentBlock>();
    EXPECT_EQ(run<MakeTable>(Message().add(request)), Code::stale) << "too short";
    EXPECT_EQ(run<TakeBackBlock>(Message().add(request.memory)), Code::ok);
    EXPECT_EQ(run<LendBlock>(Message().add(ToLend{bytes, 0})), Code::ok);
    request.memory = told<LentBlock>();
    for (std::uint64_t done = 0; done < bytes; done += clear_bytes_max) {
        const ToClear piece{request.memory.address, done, std::min(clear_bytes_max, bytes - done)};
        ASSERT_EQ(run<ClearBlock>(Message().add(piece)), Code::ok) << done;
    }
    EXPECT_EQ(run<MakeTable>(Message().add(request)), Code::ok);
    const auto table = told<MadeTable>().table;
    EXPECT_EQ(table, request.memory.address);
    EXPECT_EQ(run<TakeBackBlock>(Message().add(request.memory)), Code::stale);
    EXPECT_EQ(put(table, "key", "value", PutMode::insert), Effect::done);
    destroy_wholly(table);
}

// A gateway frees a destroyed table in parts, because other nodes wait for its operations.
TEST_F(TableOperationsTest, of_a_gateway_free_a_destroyed_table_in_parts) {
    thread_ = local::OperationContext::gateway_thread;
    const std::vector<std::uint32_t> asks{local::operation_number<DestroyLater>};
    NodeHeap heap(node_, 0, owner_.hazards);
    const std::uint64_t before = heap.usage(0).blocks;
    const std::uint64_t table = make(1U << 12);
    for (int i = 0; i < 1'000; ++i)
        ASSERT_EQ(put(table, "key " + std::to_string(i), "value", PutMode::insert), Effect::done);
    EXPECT_EQ(destroy(table), Code::ok);
    EXPECT_EQ(told<Destroyed>().has_more, 1U);
    EXPECT_EQ(later_, asks);
    EXPECT_EQ(destroy(table), Code::stale);
    const std::uint64_t other = make();
    std::uint32_t parts = 1;
    for (; destroy_more(table) && told<Destroyed>().has_more != 0; ++parts) {
        EXPECT_EQ(later_, asks);
        EXPECT_EQ(run<DestroyLater>(Message()), Code::ok);
    }
    EXPECT_GE(parts, (1U << 12) / 512) << "256 buckets a part, and two in each round of this loop";
    EXPECT_TRUE(later_.empty());
    EXPECT_EQ(destroy(other), Code::ok);
    EXPECT_EQ(run<DestroyLater>(Message()), Code::ok);
    EXPECT_TRUE(later_.empty());
    EXPECT_EQ(heap.usage(0).blocks, before);
}

// The last one to be destroyed is freed first.
TEST_F(TableOperationsTest, of_a_gateway_say_whether_blocks_of_the_table_that_was_named_are_left) {
    thread_ = local::OperationContext::gateway_thread;
    const std::uint64_t first = make(1U << 12);
    const std::uint64_t last = make(1U << 10);
    EXPECT_EQ(destroy(first), Code::ok);
    EXPECT_EQ(destroy(last), Code::ok);
    while (destroy_more(last) && told<Destroyed>().has_more != 0) {
    }
    EXPECT_TRUE(destroy_more(first));
    EXPECT_EQ(told<Destroyed>().has_more, 1U);
    EXPECT_TRUE(destroy_more(0)) << "names no table";
    EXPECT_EQ(told<Destroyed>().has_more, 0U);
    std::uint32_t parts = 0;
    for (; destroy_more(first) && told<Destroyed>().has_more != 0; ++parts) {
    }
    EXPECT_GT(parts, (1U << 11) / 256);
}

TEST_F(TableOperationsTest, of_a_thread_of_the_node_free_the_whole_table) {
    const std::uint64_t table = make(1U << 12);
    EXPECT_EQ(destroy(table), Code::ok);
    EXPECT_EQ(told<Destroyed>().has_more, 0U);
    EXPECT_TRUE(destroy_more(table));
    EXPECT_EQ(told<Destroyed>().has_more, 0U);
}

TEST_F(TableOperationsTest, say_that_there_is_no_heap) {
    const node::Segment without = local::test::make_node(1, 1);
    local::test::Owner owner(without, 0);
    const std::vector<std::pair<local::NumberedOperation, Message>> calls{
        {row_of<MakeTable>, Message().add(TableToMake())},
        {row_of<DestroyTable>, Message().add(TableName())},
        {row_of<DestroyMore>, Message().add(OneTable())},
        {row_of<DestroyLater>, Message()},
        {row_of<UseTable>, Message().add(OneTable())},
        {row_of<GiveTable>, Message().add(TableToGive())},
        {row_of<CountEntries>, Message().add(TableName())},
        {row_of<WalkEntries>, Message().add(WalkRequest())},
        {row_of<ClearTable>, Message().add(TableToClear())},
        {row_of<FindEntry>, Message().add(EntryRequest())},
        {row_of<PutEntry>, Message().add(EntryRequest()).add(PutWords())},
        {row_of<PutBlock>, Message().add(EntryRequest()).add(BlockWords())},
        {row_of<EraseEntry>, Message().add(EntryRequest())},
        {row_of<ChangeEntry>, Message().add(EntryRequest()).add(ChangeWords())},
        {row_of<ReadEntry>, Message().add(RecordRequest())},
        {row_of<EraseRecord>, Message().add(RecordRequest())},
        {row_of<RunBatch>, Message().add(BatchHead())},
        {row_of<NextOfKey>, Message().add(EntryRequest({}, 0, 0, 1)).add(table::WalkPlace())},
    };
    EXPECT_EQ(calls.size(), table_operations.size() + entry_operations.size());
    for (const auto& [row, message] : calls) {
        result_.resize(row.result_bytes_max);
        local::OperationContext context(owner.space, owner.hazards, *owner.hazards.own_line(), 0);
        EXPECT_EQ(local::run_operation(row, context, message.bytes(), result_).code,
                  Code::unsupported)
            << row.number;
    }
}

// A walk over a table that has a key twice would not end.
TEST_F(TableOperationsTest, a_second_entry_of_a_key_is_refused_by_a_table_of_unique_keys) {
    PutWords words;
    words.mode = PutMode::add;
    const std::uint64_t table = make();
    EXPECT_EQ(put(table, "key", "first", PutMode::insert), Effect::done);
    EXPECT_EQ(run<PutEntry>(Message()
                                .add(request_of(table, "key", 6))
                                .add(words)
                                .add_text("key")
                                .add_text("second")),
              Code::argument);
}

}  // namespace
}  // namespace acp::allocator::test
