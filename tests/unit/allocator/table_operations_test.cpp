// SPDX-License-Identifier: BSD-3-Clause
// The operations on hash tables as bytes, which may come from another node: what they do, and that what is malformed is refused and
// changes nothing.
#include "allocator/table_operations.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "allocator/entry_operations.hpp"
#include "allocator/operations.hpp"
#include "support/hash.hpp"
#include "unit/local/test_owner.hpp"

namespace acp::allocator::test {
namespace {

using base::Code;
using table::Effect;
using table::PutMode;

constexpr std::uint64_t heap_bytes = 4 * heap::area_bytes;

const local::NumberedOperation& row_of(std::uint32_t number) {
    if (number == allocate_number) return operations().front();
    for (const local::NumberedOperation& row : table_operations()) {
        if (row.number == number) return row;
    }
    for (const local::NumberedOperation& row : entry_operations()) {
        if (row.number == number) return row;
    }
    ADD_FAILURE() << number;
    return table_operations().front();
}

// Arguments, put together.
class Message {
public:
    template <typename Value>
    Message& add(const Value& value) {
        const auto* bytes = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
        return *this;
    }

    Message& add_text(const std::string& text) {
        const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
        bytes_.insert(bytes_.end(), bytes, bytes + text.size());
        return *this;
    }

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

class TableOperationsTest : public testing::Test {
protected:
    Code run(std::uint32_t number, const Message& message) {
        const local::NumberedOperation& row = row_of(number);
        result_.assign(row.result_bytes_max, std::byte{0xee});
        local::OperationContext context(owner_.space, owner_.hazards, *owner_.hazards.own_line(),
                                        0);
        const auto ran = local::run_operation(row, context, message.bytes(), result_);
        result_.resize(ran.result_bytes);
        return ran.code;
    }

    std::uint64_t make(std::uint64_t slots = 4) {
        EXPECT_EQ(run(table_make_number, Message().add(TableRequest{slots, 1, 0, id})), Code::ok);
        return told<std::uint64_t>();
    }

    Code destroy(std::uint64_t table) {
        return run(table_destroy_number, Message().add(TableName{table, id}));
    }

    template <typename Value>
    [[nodiscard]] Value told() const {
        Value value{};
        EXPECT_GE(result_.size(), sizeof value);
        std::memcpy(&value, result_.data(), std::min(result_.size(), sizeof value));
        return value;
    }

    static EntryRequest request_of(std::uint64_t table,
                                   const std::string& key,
                                   std::size_t value_bytes) {
        return {{table, id},
                hash_of(key),
                static_cast<std::uint32_t>(key.size()),
                static_cast<std::uint32_t>(value_bytes)};
    }

    static std::uint64_t hash_of(const std::string& key) {
        return acp::test::hash_of(key) & table::hash_mask;
    }

    Effect put(std::uint64_t table,
               const std::string& key,
               const std::string& value,
               PutMode mode,
               const std::string& expected = "") {
        PutWords words;
        words.mode = mode;
        words.expected_bytes = static_cast<std::uint32_t>(expected.size());
        EXPECT_EQ(run(entry_put_number, Message()
                                            .add(request_of(table, key, value.size()))
                                            .add(words)
                                            .add_text(key)
                                            .add_text(value)
                                            .add_text(expected)),
                  Code::ok);
        return told<EntryResult>().effect;
    }

    EntryResult find(std::uint64_t table, const std::string& key, std::size_t room = 500) {
        EXPECT_EQ(run(entry_find_number, Message().add(request_of(table, key, room)).add_text(key)),
                  Code::ok);
        return told<EntryResult>();
    }

    Effect erase(std::uint64_t table, const std::string& key) {
        EXPECT_EQ(run(entry_erase_number, Message().add(request_of(table, key, 0)).add_text(key)),
                  Code::ok);
        return told<EntryResult>().effect;
    }

    EntryResult change(std::uint64_t table, const std::string& key, const ChangeWords& words) {
        EXPECT_EQ(run(entry_change_number,
                      Message().add(request_of(table, key, 0)).add(words).add_text(key)),
                  Code::ok);
        return told<EntryResult>();
    }

    [[nodiscard]] std::string value_found() const {
        const auto* start = reinterpret_cast<const char*>(result_.data()) + sizeof(EntryResult);
        return {start, result_.size() - sizeof(EntryResult)};
    }

    static constexpr std::uint64_t id = 0x1d;

    node::Segment node_ = local::test::make_node(2, 2, heap_bytes);
    local::test::Owner owner_{node_, 0};
    std::vector<std::byte> result_;
};

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
    EXPECT_EQ(change(table, "c", {ChangeKind::take_from_count, ~0ULL, 0}).effect, Effect::done);
    EXPECT_EQ(find(table, "c").effect, Effect::absent);
}

TEST_F(TableOperationsTest, entries_are_read_and_erased_by_their_records) {
    const std::uint64_t table = make();
    ASSERT_EQ(put(table, "a", "value", PutMode::insert), Effect::done);
    const RecordRequest request{{table, id}, hash_of("a"), find(table, "a").record, 3};
    ASSERT_NE(request.record, 0U);
    ASSERT_EQ(run(entry_read_number, Message().add(request)), Code::ok);
    EXPECT_EQ(value_found(), "val");
    EXPECT_EQ(told<EntryResult>().value_bytes, 5U);
    ASSERT_EQ(run(entry_erase_record_number, Message().add(request)), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::done);
    ASSERT_EQ(run(entry_erase_record_number, Message().add(request)), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::absent);
    ASSERT_EQ(run(entry_read_number, Message().add(request)), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::absent);
}

TEST_F(TableOperationsTest, a_walk_tells_every_entry_and_clearing_leaves_none) {
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
        ASSERT_EQ(run(table_walk_number, Message().add(request)), Code::ok);
        head = told<WalkResult>();
        std::size_t at = sizeof head;
        for (std::uint32_t i = 0; i < head.count; ++i) {
            WalkedEntry entry;
            std::memcpy(&entry, result_.data() + at, sizeof entry);
            at += sizeof entry;
            if (entry.has_bytes == 0) {
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
    // As few as are wanted, and without their bytes.
    request = {{table, id}, {}, 3, 0};
    std::size_t places = 0;
    for (WalkResult head{{}, 0, 1}; head.has_more != 0; request.after = head.after) {
        ASSERT_EQ(run(table_walk_number, Message().add(request)), Code::ok);
        head = told<WalkResult>();
        ASSERT_LE(head.count, 3U);
        ASSERT_EQ(result_.size(), sizeof head + head.count * sizeof(WalkedEntry));
        places += head.count;
    }
    EXPECT_EQ(places, keys.size());
    request.after = {};
    for (ClearResult head; head.has_more != 0; request.after = head.after) {
        ASSERT_EQ(run(table_clear_number, Message().add(request)), Code::ok);
        head = told<ClearResult>();
        ASSERT_EQ(head.has_room, 1U);
    }
    ASSERT_EQ(run(table_entries_number, Message().add(TableName{table, id})), Code::ok);
    EXPECT_EQ(told<std::uint64_t>(), 0U);
}

TEST_F(TableOperationsTest, a_block_that_was_filled_becomes_an_entry_or_is_freed) {
    using Record = table::EntryRecord<std::atomic>;
    const std::uint64_t table = make();
    const std::string key = "key";
    const std::string value(2'000, 'v');
    const std::uint64_t start = owner_.space.claimed_address(0, node::Claim::heap_blocks);
    const auto put_block = [&](PutMode mode, std::uint64_t value_bytes) {
        EXPECT_EQ(run(allocate_number,
                      Message()
                          .add(std::uint64_t{alignment_least})
                          .add(Record::bytes(3, static_cast<std::uint32_t>(value.size())))),
                  Code::ok);
        BlockWords words{};
        words.put.mode = mode;
        words.block.address = told<std::uint64_t>();
        char* const place =
            node_.claimed(0, node::Claim::heap_blocks) + (words.block.address - start);
        std::memcpy(place + Record::head_bytes, value.data(), value.size());
        std::memcpy(place + Record::head_bytes + value.size(), key.data(), key.size());
        return run(entry_put_block_number,
                   Message().add(request_of(table, key, value_bytes)).add(words));
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
        return run(entry_batch_number, message);
    };
    ASSERT_EQ(batch(BatchKind::insert, 20), Code::ok);
    EXPECT_EQ(result_.size(), 20 * sizeof(EntryResult));
    ASSERT_EQ(batch(BatchKind::find, 21), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::done);
    EXPECT_EQ(result_.size(), 21 * sizeof(EntryResult) + 10 * 2 + 10 * 3);
    ASSERT_EQ(batch(BatchKind::erase, 20), Code::ok);
    ASSERT_EQ(batch(BatchKind::find, 1), Code::ok);
    EXPECT_EQ(told<EntryResult>().effect, Effect::absent);
    EXPECT_EQ(run(entry_batch_number,
                  Message().add(BatchHead{{table, id}, BatchKind::insert, batch_changes_max + 1})),
              Code::argument);
}

TEST_F(TableOperationsTest, malformed_arguments_are_refused) {
    const std::uint64_t table = make();
    ASSERT_EQ(put(table, "key", "value", PutMode::insert), Effect::done);
    for (const std::uint32_t number :
         {entry_find_number, entry_put_number, entry_put_block_number, entry_erase_number,
          entry_change_number, entry_read_number, entry_erase_record_number, entry_batch_number,
          entry_next_of_key_number, table_walk_number, table_clear_number, table_entries_number,
          table_give_number}) {
        EXPECT_EQ(run(number, Message()), Code::argument) << number;
        EXPECT_EQ(run(number, Message().add(std::uint64_t{1})), Code::argument) << number;
        EntryRequest longer = request_of(table, "key", 5);
        longer.key_bytes = ~0U;
        EXPECT_EQ(run(number, Message().add(longer).add(ChangeWords()).add_text("key")),
                  Code::argument)
            << number;
        EXPECT_EQ(run(number, Message()
                                  .add(request_of(table, "key", 5))
                                  .add(ChangeWords())
                                  .add_text("key and more, 123456")),
                  Code::argument)
            << number;
    }
    EXPECT_EQ(run(table_make_number, Message().add(TableRequest{0, 1, 0, id})), Code::argument);
    EXPECT_EQ(run(table_make_number, Message().add(TableRequest{1, 2, 0, id})), Code::argument);
    EXPECT_EQ(run(table_make_number, Message().add(TableRequest{1, 1, 2, id})), Code::argument);
    EXPECT_EQ(run(table_make_number, Message().add(TableRequest{table_slots_max + 1, 1, 0, id})),
              Code::argument);
    EXPECT_EQ(find(table, "key").effect, Effect::done);
}

TEST_F(TableOperationsTest, what_is_no_table_of_this_identity_is_stale) {
    const std::uint64_t other = make();
    const std::uint64_t table = make();
    ASSERT_EQ(destroy(table), Code::ok);
    EXPECT_EQ(run(table_give_number, Message().add(GiveRequest{{other, id}, id + 1})), Code::ok);
    const std::uint64_t start = owner_.space.claimed_address(0, node::Claim::heap_blocks);
    for (const std::uint64_t address :
         {table, table + 64, other, std::uint64_t{0}, start + heap_bytes - 64, ~std::uint64_t{0},
          owner_.space.claimed_address(1, node::Claim::heap_blocks)}) {
        EXPECT_EQ(destroy(address), Code::stale) << address;
        const RecordRequest record{{address, id}, 0, 0, 9};
        EXPECT_EQ(run(entry_read_number, Message().add(record)), Code::stale);
        EXPECT_EQ(find(address, "k").effect, Effect::no_table);
    }
    EXPECT_EQ(run(table_destroy_number, Message().add(TableName{other, id + 1})), Code::ok);
}

TEST_F(TableOperationsTest, a_table_larger_than_the_heap_is_not_made) {
    EXPECT_EQ(make(1U << 20), 0U);
    EXPECT_EQ(make(table_slots_max), 0U);
    EXPECT_NE(make(1U << 10), 0U);
}

TEST_F(TableOperationsTest, a_full_heap_is_told_and_nothing_is_changed) {
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

// The table's only chain is full, and so is the heap.
class FullHeapTest : public TableOperationsTest {
protected:
    FullHeapTest() {
        EXPECT_EQ(run(table_make_number, Message().add(TableRequest{1, 0, 0, id})), Code::ok);
        table_ = told<std::uint64_t>();
        for (std::uint32_t i = 0; i < table::Bucket<std::atomic>::slots_max; ++i) {
            EXPECT_EQ(put(table_, std::to_string(i), "", PutMode::insert), Effect::done);
        }
        words_.put.mode = PutMode::insert;
        words_.block.address = allocate(block_bytes);
        const std::uint64_t start = owner_.space.claimed_address(0, node::Claim::heap_blocks);
        std::memcpy(node_.claimed(0, node::Claim::heap_blocks) + (words_.block.address - start) +
                        Record::head_bytes,
                    key_.data(), key_.size());
    }

    std::uint64_t allocate(std::uint64_t bytes) {
        EXPECT_EQ(run(allocate_number, Message().add(std::uint64_t{alignment_least}).add(bytes)),
                  Code::ok);
        return told<std::uint64_t>();
    }

    void fill_heap() {
        for (std::uint64_t bytes = heap::area_bytes / 2; bytes >= alignment_least; bytes /= 2) {
            while (allocate(bytes) != 0) {
            }
        }
    }

    Effect put_block() {
        EXPECT_EQ(
            run(entry_put_block_number, Message().add(request_of(table_, key_, 0)).add(words_)),
            Code::ok);
        return told<EntryResult>().effect;
    }

    using Record = table::EntryRecord<std::atomic>;
    const std::string key_ = "key";
    const std::uint64_t block_bytes = Record::head_bytes + key_.size();
    std::uint64_t table_ = 0;
    BlockWords words_{};
};

TEST_F(FullHeapTest, a_block_for_which_there_is_no_slot_is_freed_once) {
    fill_heap();
    EXPECT_EQ(put_block(), Effect::no_room);
    EXPECT_EQ(find(table_, key_).effect, Effect::absent);
    EXPECT_EQ(allocate(block_bytes), words_.block.address) << "it is free";
    EXPECT_EQ(allocate(block_bytes), 0U) << "once";
}

TEST_F(FullHeapTest, a_block_that_finds_a_slot_at_the_second_try_is_the_tables) {
    const std::uint64_t other = make();
    ASSERT_EQ(put(other, "long", std::string(40, 'v'), PutMode::insert), Effect::done);
    fill_heap();
    ASSERT_EQ(erase(other, "long"), Effect::done);  // its record is as long as a bucket
    EXPECT_EQ(put_block(), Effect::done);
    EXPECT_EQ(find(table_, key_).record, words_.block.address);
    EXPECT_EQ(allocate(block_bytes), 0U) << "the entry's record was freed";
}

// The table grows, and all its entries are in one bucket, which was not moved yet.
TEST_F(FullHeapTest, an_entry_that_cannot_be_cleared_for_want_of_room_is_told_and_cleared_later) {
    const std::uint64_t other = make();
    constexpr int records = 8;  // as long as a bucket
    for (int i = 0; i < records; ++i) {
        ASSERT_EQ(put(other, std::to_string(i), std::string(40, 'v'), PutMode::insert),
                  Effect::done);
    }
    const std::uint64_t table = make(4);
    const std::uint64_t start = owner_.space.claimed_address(0, node::Claim::heap_blocks);
    const auto& head = *reinterpret_cast<const table::Head<std::atomic>*>(
        node_.claimed(0, node::Claim::heap_blocks) + (table - start));
    const auto is_growing = [&head] {
        return table::Root::unpacked(head.root.load(std::memory_order_relaxed)).is_growing();
    };
    std::uint64_t entries = 0;
    for (; !is_growing(); ++entries) {
        const EntryRequest request{{table, id}, 3 | entries << 24, 1, 0};
        ASSERT_EQ(
            run(entry_put_number, Message().add(request).add(PutWords()).add_text("k")),
            Code::ok);
        ASSERT_EQ(told<EntryResult>().effect, Effect::done);
    }
    fill_heap();
    ClearResult cleared;
    WalkRequest request{{table, id}, {}};
    const auto clear = [&] {
        do {
            ASSERT_EQ(run(table_clear_number, Message().add(request)), Code::ok);
            cleared = told<ClearResult>();
            request.after = cleared.after;
        } while (cleared.has_more != 0 && cleared.has_room != 0);
    };
    const auto left = [&] {
        EXPECT_EQ(run(table_entries_number, Message().add(TableName{table, id})), Code::ok);
        return told<std::uint64_t>();
    };
    clear();
    EXPECT_EQ(cleared.has_room, 0U);
    EXPECT_EQ(left(), entries);
    for (int i = 0; i < records; ++i) ASSERT_EQ(erase(other, std::to_string(i)), Effect::done);
    clear();
    EXPECT_EQ(cleared.has_room, 1U);
    EXPECT_EQ(left(), 0U);
}

TEST_F(TableOperationsTest, say_that_there_is_no_heap) {
    const node::Segment without = local::test::make_node(1, 1);
    local::test::Owner owner(without, 0);
    const std::vector<std::pair<std::uint32_t, Message>> calls{
        {table_make_number, Message().add(TableRequest())},
        {table_destroy_number, Message().add(TableName())},
        {table_give_number, Message().add(GiveRequest())},
        {table_entries_number, Message().add(TableName())},
        {table_walk_number, Message().add(WalkRequest())},
        {table_clear_number, Message().add(WalkRequest())},
        {entry_find_number, Message().add(EntryRequest())},
        {entry_put_number, Message().add(EntryRequest()).add(PutWords())},
        {entry_put_block_number, Message().add(EntryRequest()).add(BlockWords())},
        {entry_erase_number, Message().add(EntryRequest())},
        {entry_change_number, Message().add(EntryRequest()).add(ChangeWords())},
        {entry_read_number, Message().add(RecordRequest())},
        {entry_erase_record_number, Message().add(RecordRequest())},
        {entry_batch_number, Message().add(BatchHead())},
        {entry_next_of_key_number, Message().add(EntryRequest()).add(NextWords())},
    };
    EXPECT_EQ(calls.size(), table_operations().size() + entry_operations().size());
    for (const auto& [number, message] : calls) {
        const local::NumberedOperation& row = row_of(number);
        result_.resize(row.result_bytes_max);
        local::OperationContext context(owner.space, owner.hazards, *owner.hazards.own_line(), 0);
        EXPECT_EQ(local::run_operation(row, context, message.bytes(), result_).code,
                  Code::unsupported)
            << row.number;
    }
}

}  // namespace
}  // namespace acp::allocator::test
