// SPDX-License-Identifier: BSD-3-Clause
// One user: a table is compared with std::unordered_map; growth, long chains, values changed in
// place, keys of all lengths, and a full heap.
#include "table/table.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>

#include "support/random.hpp"
#include "table_memory.hpp"

namespace acp::table {
namespace {

class TableTest : public testing::Test {
protected:
    ~TableTest() override {
        user_.table.reclaim();
        EXPECT_EQ(shared_.blocks_in_use(), 0U) << "every block was freed";
    }

    BlockNumber make(std::uint64_t slots, bool may_grow = true) {
        const BlockNumber table = user_.table.make({slots, may_grow});
        user_.table.keep();
        return table;
    }

    [[nodiscard]] std::optional<std::string> find(BlockNumber table, const std::string& key) const {
        std::optional<std::string> found;
        const Effect effect = user_.table.find(
            table, key_of(key),
            [&](const char* value, std::uint32_t bytes, const RecordName& /*record*/) {
                found = std::string(value, bytes);
            });
        EXPECT_EQ(effect, found ? Effect::done : Effect::absent);
        return found;
    }

    Effect insert(BlockNumber table, const std::string& key, const std::string& value) {
        return user_.table.insert(table, key_of(key), value_of(value));
    }

    // Makes random operations on the table and on a model.
    void follow_model(BlockNumber table, std::uint32_t keys, std::uint32_t operations) {
        test::Random random(keys);
        std::unordered_map<std::string, std::string> model;
        for (std::uint32_t i = 0; i < operations; ++i) {
            const std::string key = "key " + std::to_string(random.below(keys));
            const std::string value(random.below(3) == 0 ? 8 : random.below(90),
                                    static_cast<char>('a' + i % 26));
            const bool is_there = model.count(key) != 0;
            switch (random.below(5)) {
                case 0:
                case 1:
                    ASSERT_EQ(insert(table, key, value), is_there ? Effect::present : Effect::done);
                    model.emplace(key, value);
                    break;
                case 2:
                    ASSERT_EQ(user_.table.assign(table, key_of(key), value_of(value)),
                              Effect::done);
                    model[key] = value;
                    break;
                case 3:
                    ASSERT_EQ(user_.table.erase(table, key_of(key)),
                              is_there ? Effect::done : Effect::absent);
                    model.erase(key);
                    break;
                default:
                    ASSERT_EQ(find(table, key),
                              is_there ? std::optional(model[key]) : std::nullopt);
            }
            ASSERT_EQ(user_.table.entries(table), model.size());
        }
        for (std::uint32_t i = 0; i < keys; ++i) {
            const std::string key = "key " + std::to_string(i);
            const auto entry = model.find(key);
            ASSERT_EQ(find(table, key),
                      entry != model.end() ? std::optional(entry->second) : std::nullopt)
                << key;
        }
    }

    SharedHeap shared_;
    SharedPages participants_{Participants<std::atomic>::bytes(participants_max)};
    User<std::atomic> user_{shared_, participants_.data(), 0, 16};
};

TEST_F(TableTest, behaves_as_a_map_does) {
    for (const std::uint32_t slots : {1U, 3U, 128U, 1000U}) {
        for (const std::uint32_t keys : {5U, 300U, 5000U}) {
            const BlockNumber table = make(slots);
            follow_model(table, keys, 20'000);
            user_.table.destroy(table, 0);
        }
    }
}

TEST_F(TableTest, of_a_fixed_size_has_long_chains) {
    const BlockNumber table = make(3, false);
    follow_model(table, 400, 20'000);
    EXPECT_EQ(user_.table.buckets(table), 3U);
    user_.table.destroy(table, 0);
}

TEST_F(TableTest, grows_with_its_entries) {
    const BlockNumber table = make(1);
    for (int i = 0; i < 20'000; ++i) {
        ASSERT_EQ(insert(table, std::to_string(i), "value of " + std::to_string(i)), Effect::done);
    }
    EXPECT_GE(user_.table.buckets(table), 4096U);
    EXPECT_LE(user_.table.buckets(table), 8192U);
    for (int i = 0; i < 20'000; ++i) {
        ASSERT_EQ(find(table, std::to_string(i)), "value of " + std::to_string(i));
    }
    user_.table.destroy(table, 0);
}

TEST_F(TableTest, numbers_are_added_to_and_compared_in_place) {
    const BlockNumber table = make(4);
    ASSERT_EQ(insert(table, "n", std::string(8, '\0')), Effect::done);
    std::uint64_t old = 1;
    EXPECT_EQ(user_.table.fetch_add(table, key_of("n"), 5, old), Effect::done);
    EXPECT_EQ(old, 0U);
    EXPECT_EQ(user_.table.compare_exchange(table, key_of("n"), old, 9), Effect::present);
    EXPECT_EQ(old, 5U);
    EXPECT_EQ(user_.table.compare_exchange(table, key_of("n"), old, 9), Effect::done);
    EXPECT_EQ(find(table, "n")->front(), '\x09');
    EXPECT_EQ(user_.table.fetch_add(table, key_of("other"), 5, old), Effect::absent);
    ASSERT_EQ(insert(table, "text", "seven.."), Effect::done);
    EXPECT_EQ(user_.table.fetch_add(table, key_of("text"), 5, old), Effect::no_number);
    user_.table.destroy(table, 0);
}

TEST_F(TableTest, keys_and_values_are_of_any_length) {
    const BlockNumber table = make(4);
    for (const std::size_t bytes : {0U, 1U, 7U, 8U, 9U, 63U, 4096U, 1U << 20}) {
        const std::string key(bytes, 'k');
        ASSERT_EQ(insert(table, key, key + "!"), Effect::done);
        EXPECT_EQ(find(table, key), key + "!");
        EXPECT_EQ(insert(table, key, ""), Effect::present);
    }
    user_.table.destroy(table, 0);
}

TEST(EntryRecordTest, a_key_in_which_any_byte_differs_is_another_one) {
    using Record = EntryRecord<std::atomic>;
    constexpr std::uint32_t bytes_max = 40;
    for (std::uint32_t bytes = 1; bytes <= bytes_max; ++bytes) {
        alignas(Record) std::array<char, Record::bytes(bytes_max, 0)> memory{};
        Record& record = *new (memory.data()) Record{};
        const char* const end = memory.data() + memory.size();
        record.key_bytes = bytes;
        std::string key(bytes, 'k');
        std::memcpy(record.key(), key.data(), bytes);
        EXPECT_TRUE(record.has_key(key.data(), bytes, end)) << bytes;
        EXPECT_FALSE(record.has_key(key.data(), bytes - 1, end)) << bytes;
        EXPECT_FALSE(record.has_key(key.data(), bytes, record.key() + bytes - 1)) << bytes;
        for (char& byte : key) {
            byte = 'j';
            EXPECT_FALSE(record.has_key(key.data(), bytes, end)) << key;
            byte = 'k';
        }
    }
}

TEST_F(TableTest, without_room_stays_as_it_was) {
    const BlockNumber table = make(1);
    std::uint32_t there = 0;
    for (std::int64_t budget = 0; there < 60;
         // Allocations of records, buckets and arrays fail.
         budget = (budget + 1) % 4) {
        user_.blocks.set_allocations_left(budget);
        const Effect result = insert(table, std::to_string(there), "some value");
        ASSERT_TRUE(result == Effect::done || result == Effect::no_room);
        ASSERT_EQ(find(table, std::to_string(there)).has_value(), result == Effect::done);
        if (result == Effect::done) ++there;
        ASSERT_EQ(user_.table.entries(table), there);
    }
    for (std::uint32_t i = 0; i < there; ++i)
        EXPECT_TRUE(find(table, std::to_string(i)).has_value()) << i;
    user_.blocks.set_allocations_left(-1);
    user_.table.destroy(table, 0);
}

TEST_F(TableTest, a_block_that_was_filled_is_left_where_there_is_no_room) {
    const BlockNumber table = make(1, false);
    for (std::uint32_t i = 0; i < Bucket<std::atomic>::slots_max; ++i) {
        ASSERT_EQ(insert(table, std::to_string(i), "value"), Effect::done);
    }
    const std::string key = "a key of a block";
    const heap::Offset offset = shared_.heap.allocate(user_.blocks.cache(), 64, 16);
    shared_.heap.keep(user_.blocks.cache());
    const BlockNumber block = number_of(offset);
    auto& record = user_.table.record(block);
    record.key_bytes = static_cast<std::uint32_t>(key.size());
    record.value_bytes = 0;
    std::memcpy(record.key(), key.data(), key.size());
    const PutRequest request{key_of(key), {}, PutMode::insert, {}, block};
    user_.blocks.set_allocations_left(0);
    const PutEffect refused = user_.table.put(table, request);
    EXPECT_EQ(refused.effect, Effect::no_room);
    ASSERT_TRUE(refused.is_prepared_left);
    user_.blocks.set_allocations_left(-1);
    const PutEffect put = user_.table.put(table, request);
    EXPECT_EQ(put.effect, Effect::done);
    EXPECT_EQ(put.record.block, block);
    EXPECT_EQ(find(table, key), "");
    user_.table.destroy(table, 0);
}

TEST_F(TableTest, long_values_that_were_replaced_do_not_pile_up) {
    const BlockNumber table = make(4);
    for (int i = 0; i < 100; ++i) {
        const std::string value(100'000, static_cast<char>('a' + i % 26));
        ASSERT_EQ(user_.table.assign(table, key_of("key"), value_of(value)), Effect::done);
        ASSERT_LE(shared_.blocks_in_use(),
                  2U + Reclaimer<std::atomic>::bytes_most / value.size() + 1);
    }
    user_.table.destroy(table, 0);
}

// This also holds for a user that only inserts, and never retires an entry.
TEST_F(TableTest, old_arrays_are_freed_before_the_next_is_full) {
    const BlockNumber table = make(1);
    const auto bytes_in_use = [&] { return heap::usage_of(shared_.heap.control()).block_bytes; };
    constexpr std::uint32_t entries = 95'000;
    for (std::uint32_t i = 0; i < entries; ++i) {
        ASSERT_EQ(insert(table, std::to_string(i), ""), Effect::done);
    }
    ASSERT_EQ(user_.table.buckets(table), 32'768U);
    constexpr std::uint64_t record_bytes = 32;
    constexpr std::uint64_t array_bytes = BucketArray<std::atomic>::bytes(32'768);
    EXPECT_LT(bytes_in_use(), entries * record_bytes + array_bytes + array_bytes / 4);
    user_.table.destroy(table, 0);
}

TEST_F(TableTest, is_destroyed_once) {
    const BlockNumber table = make(2);
    ASSERT_EQ(insert(table, "a", "b"), Effect::done);
    EXPECT_TRUE(user_.table.is_table(table, 0));
    EXPECT_FALSE(user_.table.is_table(table + 1, 0));
    EXPECT_TRUE(user_.table.destroy(table, 0));
    EXPECT_FALSE(user_.table.is_table(table, 0));
    EXPECT_FALSE(user_.table.destroy(table, 0));
}

// The table's old arrays are so large that their memory is returned to the kernel when they are
// freed, and reads as zero.
TEST_F(TableTest, is_destroyed_while_it_grows_once_more) {
    const BlockNumber table = make(1);
    // 5 for each of 16,384 buckets, and some that migrate buckets.
    for (int i = 0; i < 83'000; ++i) {
        ASSERT_EQ(insert(table, std::to_string(i), ""), Effect::done);
    }
    EXPECT_TRUE(user_.table.destroy(table, 0));
    // Frees the rest of the long old array in parts.
    user_.table.reclaim();
}

// The participant changes another table between two pieces, and has begun a second destruction.
TEST_F(TableTest, are_destroyed_in_pieces_of_a_bounded_length) {
    const BlockNumber fixed = make(1, false);
    const BlockNumber grown = make(1);
    const BlockNumber other = make(2);
    for (int i = 0; i < 1'000; ++i) {
        ASSERT_EQ(insert(fixed, std::to_string(i), "fixed"), Effect::done);
        ASSERT_EQ(insert(grown, std::to_string(i), "grown"), Effect::done);
    }
    user_.table.reclaim();
    EXPECT_FALSE(user_.table.destroy_more());
    EXPECT_TRUE(user_.table.begin_to_destroy(fixed, 0));
    EXPECT_FALSE(user_.table.begin_to_destroy(fixed, 0));
    EXPECT_FALSE(user_.table.is_table(fixed, 0));
    EXPECT_TRUE(user_.table.destroy_more());
    EXPECT_TRUE(user_.table.begin_to_destroy(grown, 0));
    EXPECT_FALSE(user_.table.destroy(grown, 0));
    int pieces = 0;
    for (bool has_more = true; has_more; ++pieces) {
        const std::uint64_t blocks = shared_.blocks_in_use();
        has_more = user_.table.destroy_more(64);
        EXPECT_LE(blocks - shared_.blocks_in_use(), 64U + Head<std::atomic>::levels_max);
        const std::string key = std::to_string(pieces);
        ASSERT_EQ(insert(other, key, "other"), Effect::done);
        ASSERT_EQ(user_.table.erase(other, key_of(key)), Effect::done);
        user_.table.reclaim();
    }
    EXPECT_GT(pieces, 2'000 / 64);
    EXPECT_EQ(shared_.blocks_in_use(), 1U);
    EXPECT_TRUE(user_.table.destroy(other, 0));
}

TEST_F(TableTest, is_destroyed_as_a_whole_beside_one_that_is_destroyed_in_pieces) {
    const BlockNumber pieces = make(1'000);
    const BlockNumber whole = make(1'000);
    EXPECT_FALSE(user_.table.is_being_destroyed(pieces));
    EXPECT_TRUE(user_.table.begin_to_destroy(pieces, 0));
    EXPECT_TRUE(user_.table.destroy_more());
    EXPECT_TRUE(user_.table.destroy(whole, 0));
    EXPECT_EQ(shared_.blocks_in_use(), 1U);
    EXPECT_FALSE(user_.table.is_being_destroyed(whole));
    while (user_.table.destroy_more()) {
        EXPECT_TRUE(user_.table.is_being_destroyed(pieces));
    }
    EXPECT_FALSE(user_.table.is_being_destroyed(pieces));
}

TEST_F(TableTest, tables_of_a_heap_do_not_mix) {
    const BlockNumber one = make(2);
    const BlockNumber other = make(2);
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(insert(one, std::to_string(i), "one"), Effect::done);
        ASSERT_EQ(insert(other, std::to_string(2 * i), "other"), Effect::done);
    }
    EXPECT_EQ(find(one, "2"), "one");
    EXPECT_EQ(find(other, "2"), "other");
    EXPECT_EQ(find(other, "3"), std::nullopt);
    user_.table.destroy(one, 0);
    EXPECT_EQ(find(other, "2"), "other");
    user_.table.destroy(other, 0);
}

}  // namespace
}  // namespace acp::table
