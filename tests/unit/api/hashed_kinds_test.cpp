// SPDX-License-Identifier: BSD-3-Clause
// What sets, multisets and multimaps return and leave, and the calls on whole containers and on
// iterators, which all four kinds have.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <acp.h>

#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

constexpr int bad = ACP_ERR_ARGUMENT;

// What a container holds: how often each key is there, or what the key counts.
using Content = std::map<std::string, std::uint64_t>;

// The calls that all kinds have, by common names.
#define ACP_HASHED_CALLS(kind)                                     \
    using Handle = acp_##kind##_t;                                 \
    using It = acp_##kind##_it_t;                                  \
    static Handle create() {                                       \
        return acp_create_##kind(1, nullptr, 1, 0);                \
    }                                                              \
    static constexpr auto destroy = acp_destroy_##kind;            \
    static constexpr auto size = acp_size_##kind;                  \
    static constexpr auto size_local = acp_size_local_##kind;      \
    static constexpr auto empty = acp_empty_##kind;                \
    static constexpr auto empty_local = acp_empty_local_##kind;    \
    static constexpr auto begin = acp_begin_##kind;                \
    static constexpr auto end = acp_end_##kind;                    \
    static constexpr auto begin_local = acp_begin_local_##kind;    \
    static constexpr auto end_local = acp_end_local_##kind;        \
    static constexpr auto increment = acp_increment_##kind##_it;   \
    static constexpr auto erase = acp_erase_##kind;                \
    static constexpr auto scan = acp_scan_##kind;                  \
    static constexpr auto clear = acp_clear_##kind;                \
    static constexpr auto clear_local = acp_clear_local_##kind;    \
    static constexpr auto assign = acp_assign_##kind;              \
    static constexpr auto assign_local = acp_assign_local_##kind;  \
    static constexpr auto merge = acp_merge_##kind;                \
    static constexpr auto merge_local = acp_merge_local_##kind;    \
    static constexpr auto move = acp_move_##kind;                  \
    static constexpr auto move_local = acp_move_local_##kind;      \
    static constexpr auto swap = acp_swap_##kind;                  \
    static It find(Handle handle, const std::string& key) {        \
        return acp_find_##kind(handle, key.data(), key.size()).it; \
    }                                                              \
    static acp_ga_t key_of(const It& it) {                         \
        return first_of(acp_dereference_##kind##_it(it)).ga;       \
    }

acp_element_t first_of(const acp_element_t& element) {
    return element;
}

acp_element_t first_of(const acp_pair_t& pair) {
    return pair.first;
}

struct MapCalls {
    ACP_HASHED_CALLS(map)
    static constexpr bool counts = false, keeps_all = false;

    static void put(Handle handle, const std::string& key) {
        EXPECT_NE(acp_insert_map(handle, key.data(), key.size(), "value", 5).rank, -1);
    }
};

struct SetCalls {
    ACP_HASHED_CALLS(set)
    static constexpr bool counts = false, keeps_all = false;

    static void put(Handle handle, const std::string& key) {
        EXPECT_NE(acp_insert_set(handle, key.data(), key.size()).rank, -1);
    }
};

struct MultimapCalls {
    ACP_HASHED_CALLS(multimap)
    static constexpr bool counts = false, keeps_all = true;

    static void put(Handle handle, const std::string& key) {
        EXPECT_NE(acp_insert_multimap(handle, key.data(), key.size(), "value", 5).rank, -1);
    }
};

struct MultisetCalls {
    ACP_HASHED_CALLS(multiset)
    static constexpr bool counts = true, keeps_all = true;

    static void put(Handle handle, const std::string& key) {
        EXPECT_NE(acp_insert_multiset(handle, key.data(), key.size()).rank, -1);
    }
};

template <typename Calls>
class HashedKindsTest : public OneRankJob {
protected:
    using Handle = typename Calls::Handle;
    using It = typename Calls::It;

    // A container with each character of a text as a key.
    static Handle made(const std::string& keys) {
        const Handle handle = Calls::create();
        EXPECT_NE(handle.ga, ACP_GA_NULL) << acp_error_message();
        for (const char key : keys) Calls::put(handle, std::string(1, key));
        return handle;
    }

    // Walks by iterators, and tests that all other ways to look find the same.
    static Content content_of(Handle handle) {
        Content content;
        std::uint64_t entries = 0;
        It local = Calls::begin_local(handle);
        for (It it = Calls::begin(handle); it.elem != ACP_GA_NULL; it = Calls::increment(it)) {
            EXPECT_EQ(it.elem, local.elem) << "all entries of one rank are local";
            local = Calls::increment(local);
            const acp_ga_t key = Calls::key_of(it);
            std::uint64_t count = 1;
            if (Calls::counts) {
                std::array<acp_entry_t, 1> one{};
                std::array<std::uint64_t, 8> room{};
                It from = it;
                EXPECT_EQ(Calls::scan(&from, 1, one.data(), room.data(), sizeof room), 1);
                count = one[0].number;
            }
            content[{static_cast<const char*>(acp_query_address(key)), it.key_size}] += count;
            ++entries;
        }
        EXPECT_EQ(local.elem, ACP_GA_NULL);
        EXPECT_EQ(Calls::size(handle), entries);
        EXPECT_EQ(Calls::size_local(handle), entries);
        EXPECT_EQ(Calls::empty(handle), entries == 0 ? 1 : 0);
        EXPECT_EQ(Calls::empty_local(handle), entries == 0 ? 1 : 0);
        return content;
    }

    // The content that a text gives: keys that occur twice are there once in maps and sets.
    static Content wanted(const std::string& keys) {
        Content content;
        for (const char key : keys) {
            std::uint64_t& count = content[std::string(1, key)];
            count = Calls::keeps_all ? count + 1 : 1;
        }
        return content;
    }

    static void none_left(std::initializer_list<Handle> handles) {
        for (const Handle handle : handles)
            EXPECT_EQ(Calls::destroy(handle), 0) << acp_error_message();
    }
};

using Kinds = testing::Types<MapCalls, SetCalls, MultimapCalls, MultisetCalls>;
TYPED_TEST_SUITE(HashedKindsTest, Kinds);

TYPED_TEST(HashedKindsTest, contents_are_assigned_merged_moved_swapped_and_cleared) {
    using C = TypeParam;
    using H = typename C::Handle;

    struct Row {
        const char* what;
        int (*call)(H, H);
        bool keeps_first;   // the first container has its own entries afterwards
        bool gets_second;   // and those of the second one
        bool keeps_second;  // the second one has its entries afterwards
    };

    this->expect_unchanged();
    for (const Row& row : {Row{"assign", C::assign, false, true, true},
                           Row{"assign_local", C::assign_local, false, true, true},
                           Row{"merge", C::merge, true, true, true},
                           Row{"merge_local", C::merge_local, true, true, true},
                           Row{"move", C::move, true, true, false},
                           Row{"move_local", C::move_local, true, true, false}}) {
        for (const auto& [one, other] : std::vector<std::pair<std::string, std::string>>{
                 {"", ""},
                 {"abc", ""},
                 {"", "abc"},
                 {"abc", "bcd"},
                 {"aab", "abbx"},
                 {"a", "abcdefghijklmnopqrstuvwxyz"}}) {
            SCOPED_TRACE(std::string(row.what) + " " + one + ", " + other);
            const H first = this->made(one), second = this->made(other);
            EXPECT_EQ(row.call(first, second), 0) << acp_error_message();
            EXPECT_EQ(this->content_of(first),
                      this->wanted((row.keeps_first ? one : "") + (row.gets_second ? other : "")));
            EXPECT_EQ(this->content_of(second), this->wanted(row.keeps_second ? other : ""));
            this->none_left({first, second});
        }
        const H alone = this->made("abca");
        EXPECT_EQ(row.call(alone, alone), 0) << row.what << ": " << acp_error_message();
        if (row.keeps_second) {
            const bool is_doubled = row.keeps_first && C::keeps_all;
            const Content left = this->content_of(alone);
            EXPECT_EQ(left.size(), 3U) << row.what << (is_doubled ? ", doubled" : "");
        }
        this->none_left({alone});
    }
    const H first = this->made("abc"), second = this->made("xyzx");
    EXPECT_EQ(C::swap(first, second), 0) << acp_error_message();
    EXPECT_EQ(this->content_of(first), this->wanted("xyzx"));
    EXPECT_EQ(this->content_of(second), this->wanted("abc"));
    EXPECT_EQ(C::swap(first, first), 0);
    EXPECT_EQ(this->content_of(first), this->wanted("xyzx"));
    EXPECT_EQ(C::clear(first), 0);
    EXPECT_EQ(C::clear_local(second), 0);
    EXPECT_EQ(C::clear(first), 0) << "of an empty one";
    EXPECT_EQ(this->content_of(first), Content());
    EXPECT_EQ(this->content_of(second), Content());
    this->none_left({first, second});
}

TYPED_TEST(HashedKindsTest, an_erase_at_an_iterator_returns_the_next_and_happens_once) {
    using C = TypeParam;
    const auto handle = this->made("abcdefgh");
    auto it = C::begin(handle);
    std::size_t left = 8;
    while (it.elem != ACP_GA_NULL) {
        const auto erased = it;
        const auto next = C::increment(it);
        it = C::erase(it);
        ASSERT_NE(it.rank, -1) << acp_error_message();
        EXPECT_EQ(it.elem, next.elem);
        EXPECT_EQ(C::size(handle), --left);
        EXPECT_EQ(C::erase(erased).rank, -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_STALE) << acp_error_message();
        EXPECT_EQ(C::increment(erased).elem, it.elem) << "continues behind an erased entry";
    }
    EXPECT_EQ(left, 0U);
    EXPECT_EQ(it.rank, C::end(handle).rank) << "the end";
    acp_clear_errno();
    EXPECT_EQ(C::erase(C::end(handle)).rank, -1);
    EXPECT_EQ(acp_errno(), bad) << acp_error_message();
    EXPECT_EQ(C::key_of(C::end(handle)), ACP_GA_NULL);
    EXPECT_EQ(C::begin(handle).elem, ACP_GA_NULL) << "an empty container begins at its end";
    EXPECT_EQ(C::begin_local(handle).rank, C::end_local(handle).rank);
    this->none_left({handle});
    this->expect_unchanged();
}

TYPED_TEST(HashedKindsTest, an_iterator_that_the_program_changed_is_refused) {
    using C = TypeParam;
    const auto handle = this->made("abc"), other = this->made("abc");
    const auto good = C::find(handle, "b");
    ASSERT_NE(good.elem, ACP_GA_NULL);
    auto of_other = good, of_rank = good, of_entry = good;
    typename C::It zeros{};
    of_rank.rank = 1;
    of_entry.elem += 8;
    std::memcpy(static_cast<void*>(&of_other), &other, sizeof other);  // the container comes first
    for (const auto& it : {of_other, of_rank, of_entry, zeros}) {
        acp_clear_errno();
        EXPECT_EQ(C::erase(it).rank, -1);
        EXPECT_EQ(acp_errno(), bad) << acp_error_message();
        EXPECT_EQ(C::increment(it).rank, -1);
        acp_clear_errno();
        EXPECT_EQ(C::key_of(it), ACP_GA_NULL);
        EXPECT_EQ(acp_errno(), bad) << acp_error_message();
    }
    EXPECT_EQ(this->content_of(handle), this->wanted("abc"));
    EXPECT_EQ(this->content_of(other), this->wanted("abc"));
    this->none_left({handle, other});
    this->expect_unchanged();
}

TYPED_TEST(HashedKindsTest, a_scan_returns_as_many_entries_as_count_and_room_hold) {
    using C = TypeParam;
    const std::string keys = "abcdefghijklmnopqrstuvwxyz";
    const auto handle = this->made(keys);
    const auto first = C::begin(handle);
    // An entry takes its value and its key, each rounded up to 8 bytes, of the room.
    const std::size_t bytes = 8 + (first.value_size + 7) / 8 * 8;
    std::array<std::uint64_t, 64> room{};
    std::array<acp_entry_t, 30> entries{};
    for (const std::size_t count : {std::size_t{1}, std::size_t{4}, entries.size()}) {
        for (const std::size_t held : {std::size_t{1}, std::size_t{3}, room.size() * 8 / bytes}) {
            SCOPED_TRACE(std::to_string(count) + ", room for " + std::to_string(held));
            auto it = first;
            std::string seen;
            for (;;) {
                const std::int64_t some =
                    C::scan(&it, count, entries.data(), room.data(), held * bytes);
                ASSERT_GE(some, 0) << acp_error_message();
                if (some == 0) break;
                ASSERT_LE(static_cast<std::size_t>(some), std::min(count, held));
                for (std::size_t i = 0; i < static_cast<std::size_t>(some); ++i) {
                    EXPECT_EQ(entries.at(i).key_size, 1U);
                    EXPECT_EQ(entries.at(i).result, 1);
                    seen += *static_cast<const char*>(entries.at(i).key);
                }
            }
            EXPECT_EQ(it.elem, ACP_GA_NULL);
            std::sort(seen.begin(), seen.end());
            EXPECT_EQ(seen, keys);
        }
    }
    auto it = first;
    EXPECT_EQ(C::scan(&it, 0, entries.data(), room.data(), sizeof room), 0);
    EXPECT_EQ(it.elem, first.elem);
    EXPECT_EQ(C::scan(&it, 1, entries.data(), room.data(), bytes - 8), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_LIMIT) << acp_error_message();
    EXPECT_EQ(it.key_size, 1U);
    EXPECT_EQ(it.value_size, first.value_size);
    this->none_left({handle});
    this->expect_unchanged();
}

class KeysOfOneTest : public OneRankJob {
protected:
    void TearDown() override { expect_unchanged(); }
};

TEST_F(KeysOfOneTest, a_set_has_a_key_once) {
    const acp_set_t set = acp_create_set(1, nullptr, 1, 0);
    for (const std::size_t size : {0U, 1U, 8U, 950U, 1025U, 20'000U}) {
        SCOPED_TRACE(size);
        const std::string key(size, 'k');
        const char* const k = size == 0 ? nullptr : key.data();
        EXPECT_EQ(acp_contains_set(set, k, size), 0);
        EXPECT_EQ(acp_remove_set(set, k, size), 0);
        EXPECT_EQ(acp_insert_if_absent_set(set, k, size), 1);
        EXPECT_EQ(acp_insert_if_absent_set(set, k, size), 0);
        EXPECT_EQ(acp_contains_set(set, k, size), 1);
        EXPECT_EQ(acp_find_set(set, k, size).success, 1);
        EXPECT_EQ(acp_insert_set(set, k, size).elem, acp_find_set(set, k, size).it.elem);
        EXPECT_EQ(acp_size_set(set), 1U);
        EXPECT_EQ(acp_remove_set(set, k, size), 1);
        EXPECT_EQ(acp_contains_set(set, k, size), 0);
    }
    std::array<acp_entry_t, 3> entries{
        {{"a", 1, nullptr, 0, 0, 77}, {"b", 1, nullptr, 0, 0, 77}, {"a", 1, nullptr, 0, 0, 77}}};
    const auto results = [&] {
        return std::vector<int>{entries[0].result, entries[1].result, entries[2].result};
    };
    EXPECT_EQ(acp_insert_many_set(set, 3, entries.data()), 2);
    EXPECT_EQ(entries[0].result + entries[2].result, 1) << "one of the two was new";
    EXPECT_EQ(acp_find_many_set(set, 3, entries.data()), 3);
    EXPECT_EQ(acp_remove_set(set, "b", 1), 1);
    EXPECT_EQ(acp_find_many_set(set, 3, entries.data()), 2);
    EXPECT_EQ(results(), (std::vector<int>{1, 0, 1}));
    EXPECT_EQ(acp_remove_many_set(set, 3, entries.data()), 1);
    EXPECT_EQ(acp_empty_set(set), 1);
    EXPECT_EQ(acp_destroy_set(set), 0);
}

TEST_F(KeysOfOneTest, a_multiset_counts_up_to_two_less_than_2_to_the_64) {
    const acp_multiset_t set = acp_create_multiset(1, nullptr, 1, 0);
    const std::uint64_t most = UINT64_MAX - 1;
    const auto refused = [](std::uint64_t count) {
        EXPECT_EQ(count, UINT64_MAX);
        EXPECT_EQ(acp_errno(), bad) << acp_error_message();
        acp_clear_errno();
    };
    EXPECT_EQ(acp_retrieve_multiset(set, "k", 1), 0U);
    EXPECT_EQ(acp_remove_multiset(set, "k", 1), 0);
    EXPECT_EQ(acp_remove_all_multiset(set, "k", 1), 0);
    EXPECT_EQ(acp_find_multiset(set, "k", 1).success, 0);
    EXPECT_EQ(acp_add_multiset(set, "k", 1, 3), 3U);
    EXPECT_NE(acp_insert_multiset(set, "k", 1).rank, -1);
    EXPECT_EQ(acp_retrieve_multiset(set, "k", 1), 4U);
    EXPECT_EQ(acp_size_multiset(set), 1U) << "a key is one entry";
    EXPECT_EQ(acp_remove_multiset(set, "k", 1), 1);
    EXPECT_EQ(acp_retrieve_multiset(set, "k", 1), 3U);
    EXPECT_EQ(acp_add_multiset(set, "k", 1, most - 3), most);
    refused(acp_add_multiset(set, "k", 1, 1));
    refused(acp_add_multiset(set, "k", 1, UINT64_MAX));
    refused(acp_add_multiset(set, "k", 1, 0));
    EXPECT_EQ(acp_insert_multiset(set, "k", 1).rank, -1);
    EXPECT_EQ(acp_retrieve_multiset(set, "k", 1), most) << "a refused call changed the count";
    refused(acp_add_multiset(set, "new", 3, UINT64_MAX));
    EXPECT_EQ(acp_find_multiset(set, "new", 3).success, 0);
    std::array<acp_entry_t, 3> entries{
        {{"a", 1, nullptr, 0, 5, 77}, {"k", 1, nullptr, 0, 1, 77}, {"b", 1, nullptr, 0, 7, 77}}};
    EXPECT_EQ(acp_add_many_multiset(set, 3, entries.data()), -1) << "of \"k\" there are too many";
    EXPECT_EQ(entries[0].result, 1);
    EXPECT_EQ(entries[0].number, 5U);
    EXPECT_EQ(entries[1].result, -1);
    EXPECT_EQ(entries[2].number, 7U);
    EXPECT_EQ(acp_remove_all_multiset(set, "k", 1), 1);
    EXPECT_EQ(acp_find_many_multiset(set, 3, entries.data()), 2);
    EXPECT_EQ(entries[1].result, 0);
    EXPECT_EQ(entries[1].number, 0U);
    EXPECT_EQ(acp_add_multiset(set, "b", 1, 1), 8U);
    EXPECT_EQ(acp_remove_all_multiset(set, "b", 1), 1);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(acp_remove_multiset(set, "a", 1), 1);
    EXPECT_EQ(acp_remove_multiset(set, "a", 1), 0) << "erased at 0";
    EXPECT_EQ(acp_empty_multiset(set), 1);
    EXPECT_EQ(acp_destroy_multiset(set), 0);
}

TEST_F(KeysOfOneTest, a_multimap_has_each_value_of_a_key) {
    const acp_multimap_t map = acp_create_multimap(1, nullptr, 1, 0);
    EXPECT_EQ(acp_count_multimap(map, "k", 1), 0);
    EXPECT_EQ(acp_remove_multimap(map, "k", 1), 0);
    EXPECT_EQ(acp_find_multimap(map, "k", 1).success, 0);
    for (const char* const value : {"one", "two", "two", "", "a longer value"})
        EXPECT_NE(acp_insert_multimap(map, "k", 1, value, std::strlen(value)).rank, -1);
    EXPECT_NE(acp_insert_multimap(map, "other", 5, "one", 3).rank, -1);
    EXPECT_EQ(acp_count_multimap(map, "k", 1), 5);
    std::multimap<std::string, int> values;
    for (acp_multimap_it_t it = acp_find_multimap(map, "k", 1).it; it.elem != ACP_GA_NULL;
         it = acp_increment_key_multimap_it(it)) {
        std::string room(20, '?');
        std::size_t size = room.size();
        ASSERT_EQ(acp_read_multimap_it(it, room.data(), &size), 1) << acp_error_message();
        EXPECT_EQ(size, it.value_size);
        EXPECT_EQ(room.substr(size), std::string(20 - size, '?'));
        values.emplace(room.substr(0, size), 0);
    }
    EXPECT_EQ(values, (std::multimap<std::string, int>{
                          {"one", 0}, {"two", 0}, {"two", 0}, {"", 0}, {"a longer value", 0}}));
    const acp_multimap_it_t it = acp_find_multimap(map, "other", 5).it;
    std::array<char, 4> room{'?', '?', '?', '?'};
    std::size_t size = 2;
    EXPECT_EQ(acp_read_multimap_it(it, room.data(), &size), 1);
    EXPECT_EQ(size, 3U) << "the size of the whole value";
    EXPECT_EQ(std::string(room.data(), 4), "on??");
    EXPECT_NE(acp_erase_multimap(it).rank, -1);
    EXPECT_EQ(acp_read_multimap_it(it, room.data(), &size), 0) << "erased";
    EXPECT_EQ(acp_remove_multimap(map, "k", 1), 5);
    EXPECT_EQ(acp_empty_multimap(map), 1);
    EXPECT_EQ(acp_destroy_multimap(map), 0);
}

}  // namespace
}  // namespace acp::api::test
