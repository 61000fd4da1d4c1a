// SPDX-License-Identifier: BSD-3-Clause
// What each call on a key of a map returns and leaves, for keys that are present and absent, at the
// lengths of keys and values where the library takes another path, and in a heap without room.
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <acp.h>

#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

constexpr int bad = ACP_ERR_ARGUMENT;

// Lengths around those that one message to another node holds, and around 8: a value of 8 bytes is
// changed in place.
constexpr std::array<std::size_t, 11> lengths{0, 1, 7, 8, 9, 100, 950, 968, 969, 1025, 20'000};

std::string bytes_of(std::size_t size, unsigned salt) {
    std::string bytes(size, ' ');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + salt);
    return bytes;
}

// The pointer of a call: NULL for no bytes.
const char* data_of(const std::string& bytes) {
    return bytes.empty() ? nullptr : bytes.data();
}

std::string number(std::uint64_t value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

acp_map_t made(const std::map<std::string, std::string>& content) {
    const acp_map_t map = acp_create_map(1, nullptr, 1, 0);
    EXPECT_NE(map.ga, ACP_GA_NULL) << acp_error_message();
    for (const auto& [key, value] : content)
        EXPECT_EQ(acp_insert_if_absent_map(map, key.data(), key.size(), value.data(), value.size()),
                  1);
    return map;
}

std::map<std::string, std::string> content_of(acp_map_t map) {
    std::map<std::string, std::string> content;
    const auto visit = [](const void* key, std::size_t key_size, const void* value,
                          std::size_t value_size, void* argument) {
        auto& into = *static_cast<std::map<std::string, std::string>*>(argument);
        const bool is_new = into.try_emplace({static_cast<const char*>(key), key_size},
                                             static_cast<const char*>(value), value_size)
                                .second;
        EXPECT_TRUE(is_new) << "a key twice";
        return 0;
    };
    EXPECT_EQ(acp_for_each_local_map(map, visit, &content),
              static_cast<std::int64_t>(acp_size_map(map)))
        << acp_error_message();
    EXPECT_EQ(acp_size_local_map(map), content.size());
    EXPECT_EQ(acp_empty_map(map), content.empty() ? 1 : 0);
    EXPECT_EQ(acp_empty_local_map(map), content.empty() ? 1 : 0);
    return content;
}

class MapsTest : public OneRankJob {
protected:
    void TearDown() override { expect_unchanged(); }
};

TEST_F(MapsTest, every_length_of_key_and_value_is_stored_found_replaced_and_removed) {
    const acp_map_t map = made({});
    for (const std::size_t key_size : lengths) {
        for (const std::size_t value_size : lengths) {
            SCOPED_TRACE(std::to_string(key_size) + ", " + std::to_string(value_size));
            const std::string key = bytes_of(key_size, 1), value = bytes_of(value_size, 2);
            const std::string longer = bytes_of(value_size + 1, 3);
            const char* const k = data_of(key);
            std::string room(value_size + 2, '?');
            std::size_t size = 0;
            EXPECT_EQ(acp_retrieve_map(map, k, key_size, nullptr, &size), 0);
            EXPECT_EQ(acp_remove_map(map, k, key_size), 0);
            EXPECT_EQ(acp_find_map(map, k, key_size).success, 0);
            EXPECT_EQ(acp_insert_if_absent_map(map, k, key_size, data_of(value), value_size), 1);
            EXPECT_EQ(acp_insert_if_absent_map(map, k, key_size, longer.data(), longer.size()), 0);
            for (const std::size_t given :
                 {std::size_t{0}, value_size / 2, value_size, value_size + 1}) {
                room.assign(value_size + 2, '?');
                size = given;
                EXPECT_EQ(
                    acp_retrieve_map(map, k, key_size, given == 0 ? nullptr : room.data(), &size),
                    1);
                EXPECT_EQ(size, value_size) << "the size of the whole value";
                const std::size_t copied = std::min(given, value_size);
                EXPECT_EQ(room,
                          value.substr(0, copied) + std::string(value_size + 2 - copied, '?'));
            }
            const acp_map_ib_t found = acp_find_map(map, k, key_size);
            EXPECT_EQ(found.success, 1) << acp_error_message();
            EXPECT_EQ(found.it.key_size, key_size);
            EXPECT_EQ(found.it.value_size, value_size);
            EXPECT_EQ(acp_insert_or_assign_map(map, k, key_size, longer.data(), longer.size()), 0);
            EXPECT_EQ(content_of(map), (std::map<std::string, std::string>{{key, longer}}));
            EXPECT_EQ(acp_remove_map(map, k, key_size), 1);
            EXPECT_EQ(acp_insert_or_assign_map(map, k, key_size, data_of(value), value_size), 1);
            EXPECT_EQ(content_of(map), (std::map<std::string, std::string>{{key, value}}));
            EXPECT_EQ(acp_remove_map(map, k, key_size), 1);
            EXPECT_EQ(acp_size_map(map), 0U);
        }
    }
    EXPECT_EQ(acp_destroy_map(map), 0);
}

// Rows with a map that has "n": the number 40, and "t": the text "text".
TEST_F(MapsTest, numbers_are_added_to_compared_and_exchanged) {
    struct Row {
        const char* what;
        std::function<int(acp_map_t, std::uint64_t&)> call;
        int result;
        int code;
        std::uint64_t seen;  // what the call leaves in a word that had 77
        const char* key;     // the entry that is looked at afterwards
        std::string value;   // and its value; "" for none
    };

    using M = acp_map_t;
    const auto add = [](const char* key, std::uint64_t addend) {
        return [=](M m, std::uint64_t& old) { return acp_fetch_add_map(m, key, 1, addend, &old); };
    };
    const auto exchange = [](const char* key, std::uint64_t expected, std::uint64_t desired) {
        return [=](M m, std::uint64_t& seen) {
            seen = expected;
            return acp_compare_exchange_map(m, key, 1, &seen, desired);
        };
    };
    const std::vector<Row> rows{
        {"add to a number", add("n", 2), 0, 0, 40, "n", number(42)},
        {"add 0", add("n", 0), 0, 0, 40, "n", number(40)},
        {"add the opposite", add("n", ~std::uint64_t{0} - 38), 0, 0, 40, "n", number(1)},
        {"wrap around", add("n", ~std::uint64_t{0} - 39), 0, 0, 40, "n", number(0)},
        {"add to an absent key", add("x", 5), 1, 0, 0, "x", number(5)},
        {"add to a text", add("t", 5), -1, bad, 77, "t", "text"},
        {"add without an old value",
         [](M m, std::uint64_t&) { return acp_fetch_add_map(m, "n", 1, 2, nullptr); }, 0, 0, 77,
         "n", number(42)},
        {"exchange an equal number", exchange("n", 40, 9), 1, 0, 40, "n", number(9)},
        {"exchange another number", exchange("n", 41, 9), 0, 0, 40, "n", number(40)},
        {"exchange an absent key", exchange("x", 40, 9), ACP_NONE, 0, 40, "x", ""},
        {"exchange a text", exchange("t", 40, 9), -1, bad, 40, "t", "text"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.what);
        const acp_map_t map = made({{"n", number(40)}, {"t", "text"}});
        std::uint64_t seen = 77;
        acp_clear_errno();
        EXPECT_EQ(row.call(map, seen), row.result) << acp_error_message();
        EXPECT_EQ(acp_errno(), row.code) << acp_error_message();
        EXPECT_EQ(seen, row.seen);
        auto content = content_of(map);
        EXPECT_EQ(content[row.key], row.value);
        EXPECT_EQ(acp_destroy_map(map), 0);
    }
}

TEST_F(MapsTest, a_replace_compares_the_whole_value) {
    struct Row {
        std::string before, expected, desired;
        int result;
        int code;
    };

    const std::string longest = bytes_of(968, 1), too_long = bytes_of(969, 1);
    for (const Row& row : std::vector<Row>{
             {"abc", "abc", "xyz", 1, 0},
             {"abc", "abc", "a longer value", 1, 0},
             {"abc", "abc", "", 1, 0},
             {"", "", "abc", 1, 0},
             {"abc", "abd", "xyz", 0, 0},
             {"abc", "ab", "xyz", 0, 0},
             {"abc", "abcd", "xyz", 0, 0},
             {"abc", "", "xyz", 0, 0},
             {longest, longest, "xyz", 1, 0},
             {"abc", "abc", too_long, 1, 0},
             {too_long, too_long, "xyz", -1, ACP_ERR_LIMIT},
             {number(1), number(1), number(2), 1, 0},
             {number(1), number(2), number(3), 0, 0},
             {number(1), number(1), "seven b", -1, bad},
             {"seven b", "seven b", number(1), 1, 0},
         }) {
        SCOPED_TRACE(row.before.substr(0, 10) + ", " + row.expected.substr(0, 10));
        const acp_map_t map = made({{"k", row.before}});
        std::string expected = row.expected;
        acp_entry_t entry{"k", 1, expected.data(), expected.size(), 0, 77};
        acp_clear_errno();
        EXPECT_EQ(acp_replace_map(map, &entry, data_of(row.desired), row.desired.size()),
                  row.result)
            << acp_error_message();
        EXPECT_EQ(acp_errno(), row.code) << acp_error_message();
        EXPECT_EQ(content_of(map)["k"], row.result == 1 ? row.desired : row.before);
        entry.key = "absent";
        entry.key_size = 6;
        if (row.code != ACP_ERR_LIMIT) {
            EXPECT_EQ(acp_replace_map(map, &entry, "x", 1), ACP_NONE);
        }
        EXPECT_EQ(entry.result, 77) << "a call on one key writes no result to its entry";
        EXPECT_EQ(acp_size_map(map), 1U);
        EXPECT_EQ(acp_destroy_map(map), 0);
    }
}

// A list of four keys, of which "a" and "c" are there before.
TEST_F(MapsTest, a_call_on_many_keys_has_the_result_of_each) {
    struct Row {
        const char* what;
        std::int64_t (*call)(acp_map_t, std::size_t, acp_entry_t*);
        std::array<int, 4> results;
        std::int64_t result;
        std::map<std::string, std::string> after;
    };

    const std::string one = number(1), ten = number(10), eleven = number(11);
    for (const Row& row : std::vector<Row>{
             {"find", acp_find_many_map, {1, 0, 1, 0}, 2, {{"a", one}, {"c", one}}},
             {"insert",
              acp_insert_many_map,
              {0, 1, 0, 1},
              2,
              {{"a", one}, {"b", ten}, {"c", one}, {"d", ten}}},
             {"assign",
              acp_assign_many_map,
              {0, 1, 0, 1},
              2,
              {{"a", ten}, {"b", ten}, {"c", ten}, {"d", ten}}},
             {"remove", acp_remove_many_map, {1, 0, 1, 0}, 2, {}},
             {"fetch_add",
              acp_fetch_add_many_map,
              {0, 1, 0, 1},
              2,
              {{"a", eleven}, {"b", ten}, {"c", eleven}, {"d", ten}}},
         }) {
        SCOPED_TRACE(row.what);
        const acp_map_t map = made({{"a", one}, {"c", one}});
        std::array<std::uint64_t, 4> values{10, 10, 10, 10};
        std::array<acp_entry_t, 4> entries{};
        const char* const keys = "abcd";
        for (std::size_t i = 0; i < 4; ++i) entries.at(i) = {keys + i, 1, &values.at(i), 8, 10, 77};
        EXPECT_EQ(row.call(map, 0, nullptr), 0) << "no key";
        EXPECT_EQ(entries[0].result, 77);
        EXPECT_EQ(row.call(map, 4, entries.data()), row.result) << acp_error_message();
        for (std::size_t i = 0; i < 4; ++i) {
            SCOPED_TRACE(i);
            EXPECT_EQ(entries.at(i).result, row.results.at(i));
            const bool is_add = row.call == acp_fetch_add_many_map;
            EXPECT_EQ(entries.at(i).number, is_add ? (i % 2 == 0 ? 1U : 0U) : 10U);
            const bool is_found = row.call == acp_find_many_map && i % 2 == 0;
            EXPECT_EQ(values.at(i), is_found ? 1U : 10U);
            EXPECT_EQ(entries.at(i).value_size, 8U);
        }
        EXPECT_EQ(content_of(map), row.after);
        EXPECT_EQ(acp_destroy_map(map), 0);
    }
}

TEST_F(MapsTest, a_list_may_name_a_key_twice_and_have_rooms_that_are_short) {
    const acp_map_t map = made({{"k", "0123456789"}});
    std::string room(24, '?');
    std::array<acp_entry_t, 4> entries{{{"k", 1, room.data(), 12, 0, 77},
                                        {"k", 1, room.data() + 12, 4, 0, 77},
                                        {"k", 1, nullptr, 0, 0, 77},
                                        {"no", 2, room.data() + 20, 4, 0, 77}}};
    EXPECT_EQ(acp_find_many_map(map, 4, entries.data()), 3);
    EXPECT_EQ(room, "0123456789??0123????????");
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(entries.at(i).value_size, 10U) << i;
    EXPECT_EQ(entries[3].value_size, 4U) << "of an absent key unchanged";
    std::array<acp_entry_t, 3> added{
        {{"n", 1, nullptr, 0, 1, 77}, {"n", 1, nullptr, 0, 2, 77}, {"n", 1, nullptr, 0, 3, 77}}};
    EXPECT_EQ(acp_fetch_add_many_map(map, 3, added.data()), 1) << "one was new";
    EXPECT_EQ(content_of(map)["n"], number(6));
    std::array<acp_entry_t, 3> mixed{
        {{"n", 1, nullptr, 0, 1, 77}, {"k", 1, nullptr, 0, 2, 77}, {"z", 1, nullptr, 0, 3, 77}}};
    EXPECT_EQ(acp_fetch_add_many_map(map, 3, mixed.data()), -1) << "\"k\" is no number";
    EXPECT_EQ(acp_errno(), bad);
    EXPECT_EQ(mixed[0].result, 0);
    EXPECT_EQ(mixed[1].result, -1);
    EXPECT_EQ(mixed[2].result, 1);
    EXPECT_EQ(content_of(map), (std::map<std::string, std::string>{
                                   {"k", "0123456789"}, {"n", number(7)}, {"z", number(3)}}));
    EXPECT_EQ(acp_destroy_map(map), 0);
}

TEST_F(MapsTest, thousands_of_keys_in_one_call_are_all_stored_found_and_removed) {
    const acp_map_t map = made({});
    constexpr std::size_t count = 5000;
    std::vector<std::uint64_t> keys(count), values(count);
    std::vector<acp_entry_t> entries(count);
    for (std::size_t i = 0; i < count; ++i) {
        keys[i] = i * 3;
        values[i] = i + 7;
        entries[i] = {&keys[i], 8, &values[i], 8, 0, 77};
    }
    EXPECT_EQ(acp_insert_many_map(map, count, entries.data()), std::int64_t{count});
    EXPECT_EQ(acp_insert_many_map(map, count, entries.data()), 0);
    EXPECT_EQ(acp_size_map(map), count);
    for (std::uint64_t& value : values) value = 0;
    EXPECT_EQ(acp_find_many_map(map, count, entries.data()), std::int64_t{count});
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(values[i], i + 7);
    for (std::uint64_t& key : keys) key += 1;  // a multiple of 3, plus 1: absent
    EXPECT_EQ(acp_find_many_map(map, count, entries.data()), 0);
    for (std::uint64_t& key : keys) key -= 1;
    EXPECT_EQ(acp_remove_many_map(map, count / 2, entries.data()), std::int64_t{count / 2});
    EXPECT_EQ(acp_remove_many_map(map, count, entries.data()), std::int64_t{count - count / 2});
    EXPECT_EQ(acp_empty_map(map), 1);
    EXPECT_EQ(acp_destroy_map(map), 0);
}

TEST_F(MapsTest, a_call_without_room_in_the_heap_leaves_the_map_as_it_was) {
    const std::string large = bytes_of(std::size_t{5} << 20, 1);
    const acp_map_t map = made({{"large", large}, {"k", "value"}});
    const auto before = content_of(map);
    const auto full = [](bool has_failed) {
        EXPECT_TRUE(has_failed);
        EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
        acp_clear_errno();
    };
    std::string old = "value";
    const acp_entry_t entry{"k", 1, old.data(), old.size(), 0, 77};
    full(acp_insert_if_absent_map(map, "new", 3, large.data(), large.size()) == -1);
    full(acp_insert_map(map, "new", 3, large.data(), large.size()).rank == -1);
    full(acp_insert_or_assign_map(map, "new", 3, large.data(), large.size()) == -1);
    full(acp_insert_or_assign_map(map, "k", 1, large.data(), large.size()) == -1);
    full(acp_replace_map(map, &entry, large.data(), large.size()) == -1);
    std::string copy = large;
    std::array<acp_entry_t, 3> entries{{{"a", 1, old.data(), 5, 0, 77},
                                        {"b", 1, copy.data(), copy.size(), 0, 77},
                                        {"c", 1, old.data(), 5, 0, 77}}};
    full(acp_insert_many_map(map, 3, entries.data()) == -1);
    EXPECT_EQ(entries[1].result, -1);
    for (const char* const key : {"a", "b", "c"}) (void)acp_remove_map(map, key, 1);
    EXPECT_EQ(acp_insert_if_absent_map(map, "k", 1, "other", 5), 0)
        << "a present key needs no room";
    EXPECT_EQ(content_of(map), before);
    const acp_map_t copied = made({{"own", "entry"}});
    full(acp_assign_map(copied, map) == -1);
    full(acp_merge_map(copied, map) == -1);
    EXPECT_EQ(content_of(map), before) << "the source of a copy that found no room";
    EXPECT_EQ(acp_destroy_map(map), 0);
    EXPECT_EQ(acp_destroy_map(copied), 0);
}

}  // namespace
}  // namespace acp::api::test
