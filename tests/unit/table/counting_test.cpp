// SPDX-License-Identifier: BSD-3-Clause
// Counts of keys, values that are replaced if they are the expected ones, and the identity of a
// table.
#include "table/counting.hpp"

#include <gtest/gtest.h>

#include "unit/table/table_memory.hpp"

namespace acp::table {
namespace {

class CountingTest : public testing::Test {
protected:
    SharedHeap shared_;
    SharedPages participants_{Participants<std::atomic>::bytes(participants_max)};
    User<std::atomic> user_{shared_, participants_.data(), 0, 16};
    BlockNumber table_ = user_.table.make({2, true, false, 9});
};

TEST_F(CountingTest, keys_are_counted_up_and_down_and_erased_at_nothing) {
    EXPECT_EQ(user_.table.add(table_, key_of("a"), 3).count, 3U);
    EXPECT_EQ(user_.table.add(table_, key_of("a"), 1).count, 4U);
    EXPECT_EQ(user_.table.entries(table_), 1U);
    EXPECT_EQ(user_.table.subtract(table_, key_of("a"), 1).count, 3U);
    EXPECT_EQ(user_.table.subtract(table_, key_of("b"), 1).effect, Effect::absent);
    EXPECT_EQ(user_.table.subtract(table_, key_of("a"), 7).effect, Effect::done);
    EXPECT_EQ(user_.table.entries(table_), 0U);
    EXPECT_EQ(user_.table.subtract(table_, key_of("a"), 1).effect, Effect::absent);
    EXPECT_EQ(user_.table.add(table_, key_of("a"), 2).count, 2U);
    ASSERT_EQ(user_.table.insert(table_, key_of("text"), value_of("abc")), Effect::done);
    EXPECT_EQ(user_.table.add(table_, key_of("text"), 2).effect, Effect::no_number);
}

TEST_F(CountingTest, an_ended_count_is_absent_for_the_next_user) {
    ASSERT_EQ(user_.table.insert(table_, key_of("a"), {&ended_count, sizeof ended_count}),
              Effect::done);
    EXPECT_EQ(user_.table.subtract(table_, key_of("a"), 1).effect, Effect::absent);
    EXPECT_EQ(user_.table.entries(table_), 0U) << "it was unlinked";
    ASSERT_EQ(user_.table.insert(table_, key_of("a"), {&ended_count, sizeof ended_count}),
              Effect::done);
    EXPECT_EQ(user_.table.add(table_, key_of("a"), 1).count, 1U);
    EXPECT_EQ(user_.table.entries(table_), 1U);
}

// A table whose number of buckets is no power of two: the bucket follows from the whole hash.
TEST_F(CountingTest, recovery_keeps_the_records_of_a_killed_one_that_are_linked) {
    const BlockNumber table = user_.table.make({3, true});
    Participants<std::atomic> all{participants_.data(), participants_max};
    for (int i = 0; i < 20; ++i) {
        const std::string key = "key " + std::to_string(i);
        all[1].table.store(table, std::memory_order_relaxed);  // recovery clears it
        const PutEffect put = user_.table.put(table, {key_of(key), value_of("value")});
        ASSERT_EQ(put.effect, Effect::done);
        all[1].record_made.store(made::of_record(put.record.block, key_of(key).hash),
                                 std::memory_order_release);
        ASSERT_TRUE(user_.table.recover(1, [](std::uint32_t) { return false; }));
        user_.table.reclaim();
        EXPECT_EQ(user_.table.erase_record(table, key_of(key).hash & hash_mask, put.record),
                  Effect::done)
            << key << ": recovery has retired the record of an entry";
    }
    EXPECT_TRUE(user_.table.destroy(table, 0));
}

// A user that has ended a count is stopped before it has unlinked the entry: another user unlinks
// it. The record stays allocated, since recovery would read it if the stopped user were killed.
TEST_F(CountingTest, a_record_that_a_stopped_one_takes_out_of_use_is_not_freed) {
    User<std::atomic> stopped(shared_, participants_.data(), 1, 1);
    ASSERT_EQ(user_.table.add(table_, key_of("a"), 1).count, 1U);
    const std::uint64_t blocks = shared_.blocks_in_use();
    const BlockNumber record = user_.table.add(table_, key_of("a"), 1).record.block;
    Participants<std::atomic> all{participants_.data(), participants_max};
    all[1].table.store(table_, std::memory_order_relaxed);
    const std::uint64_t slot = slot::of(key_of("a").hash, record);
    all[1].unlinking.store(unlinking::of_slot(slot) | unlinking::is_ended,
                           std::memory_order_release);
    ASSERT_EQ(user_.table.subtract(table_, key_of("a"), 2).effect, Effect::done);
    user_.table.reclaim();
    EXPECT_EQ(shared_.blocks_in_use(), blocks);
    EXPECT_TRUE(user_.table.recover(1, [](std::uint32_t) { return false; }));
    user_.table.reclaim();
    EXPECT_EQ(shared_.blocks_in_use(), blocks - 1);
}

TEST_F(CountingTest, a_count_that_would_be_none_is_refused_and_stays) {
    const auto add = [&](std::uint64_t number) {
        return user_.table.add(table_, key_of("a"), number).effect;
    };
    EXPECT_EQ(add(0), Effect::out_of_range);
    EXPECT_EQ(add(ended_count), Effect::out_of_range);
    EXPECT_EQ(user_.table.entries(table_), 0U);
    ASSERT_EQ(add(ended_count - 2), Effect::done);
    EXPECT_EQ(add(2), Effect::out_of_range);
    EXPECT_EQ(add(3), Effect::out_of_range) << "the sum is 0 in 64 bits";
    EXPECT_EQ(add(std::uint64_t{1} << 63), Effect::out_of_range);
    EXPECT_EQ(add(0), Effect::out_of_range);
    EXPECT_EQ(user_.table.add(table_, key_of("a"), 1).count, ended_count - 1);
    EXPECT_EQ(add(1), Effect::out_of_range);
    EXPECT_EQ(user_.table.subtract(table_, key_of("a"), ended_count - 3).count, 2U);
}

TEST_F(CountingTest, a_number_is_added_to_or_inserted) {
    std::uint64_t old = 7;
    EXPECT_EQ(user_.table.fetch_add_or_insert(table_, key_of("n"), 5, old), Effect::absent);
    EXPECT_EQ(old, 0U);
    EXPECT_EQ(user_.table.fetch_add_or_insert(table_, key_of("n"), 1, old), Effect::done);
    EXPECT_EQ(old, 5U);
}

TEST_F(CountingTest, a_value_is_replaced_where_it_is_as_expected) {
    const auto replace = [&](const std::string& key, const std::string& expected,
                             const std::string& value) {
        return user_.table
            .put(table_, {key_of(key), value_of(value), PutMode::replace, value_of(expected)})
            .effect;
    };
    EXPECT_EQ(replace("a", "", "x"), Effect::absent);
    ASSERT_EQ(user_.table.insert(table_, key_of("a"), value_of("one")), Effect::done);
    EXPECT_EQ(replace("a", "two", "x"), Effect::present);
    EXPECT_EQ(replace("a", "on", "x"), Effect::present);
    EXPECT_EQ(replace("a", "one", "a longer value than before"), Effect::done);
    EXPECT_EQ(replace("a", "a longer value than before", "12345678"), Effect::done);
    EXPECT_EQ(replace("a", "12345678", "87654321"), Effect::done) << "in place";
    EXPECT_EQ(replace("a", "12345678", "xxxxxxxx"), Effect::present);
    EXPECT_EQ(replace("a", "87654321", "short"), Effect::no_number)
        << "adds to the value would be lost meanwhile";
    EXPECT_EQ(user_.table.entries(table_), 1U);
}

TEST_F(CountingTest, a_table_is_known_by_its_identity) {
    EXPECT_TRUE(user_.table.is_table(table_, 9));
    EXPECT_FALSE(user_.table.is_table(table_, 8));
    EXPECT_FALSE(user_.table.give(table_, 8, 10));
    EXPECT_TRUE(user_.table.give(table_, 9, 10));
    EXPECT_FALSE(user_.table.destroy(table_, 9));
    EXPECT_TRUE(user_.table.destroy(table_, 10));
    EXPECT_EQ(shared_.blocks_in_use(), 0U);
}

}  // namespace
}  // namespace acp::table
