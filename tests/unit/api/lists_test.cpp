// SPDX-License-Identifier: BSD-3-Clause
// What each call on a list returns and leaves: at the ends, at iterators of every state, and on
// ranges and whole lists. A list is written as its elements with a space between two of them.
#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include <acp.h>

#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

constexpr int bad = ACP_ERR_ARGUMENT;
constexpr int stale = ACP_ERR_STALE;

acp_list_t made(const std::string& content) {
    const acp_list_t list = acp_create_list(0);
    EXPECT_NE(list.ga, ACP_GA_NULL) << acp_error_message();
    std::istringstream words(content);
    for (std::string word; words >> word;)
        EXPECT_EQ(acp_push_back_list(list, word.data(), word.size(), 0), 0) << acp_error_message();
    return list;
}

std::string element_at(const acp_list_it_t& it) {
    std::string room(64, '?');
    const std::int64_t bytes = acp_read_list(it, room.data(), room.size());
    EXPECT_GE(bytes, 0) << acp_error_message();
    return room.substr(0, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0)));
}

bool is_end(const acp_list_it_t& it) {
    return it.elem == it.list.ga;
}

// Returns the elements in their order, and tests that a walk backward finds the same ones.
std::string content_of(acp_list_t list) {
    std::vector<std::string> forward;
    for (acp_list_it_t it = acp_begin_list(list); !is_end(it); it = acp_increment_list_it(it)) {
        if (it.elem == ACP_GA_NULL) return "a failed walk";
        forward.push_back(element_at(it));
    }
    EXPECT_EQ(acp_size_list(list), forward.size());
    EXPECT_EQ(acp_empty_list(list), forward.empty() ? 1 : 0);
    acp_list_it_t it = acp_end_list(list);
    for (auto word = forward.rbegin(); word != forward.rend(); ++word) {
        it = acp_decrement_list_it(it);
        EXPECT_EQ(element_at(it), *word) << "a walk backward";
    }
    std::string content;
    for (const std::string& word : forward) content += (content.empty() ? "" : " ") + word;
    return content;
}

// The place of an index; that of the size is the end.
acp_list_it_t nth(acp_list_t list, int index) {
    return acp_advance_list_it(acp_begin_list(list), index);
}

// The index of a place; -1 after a failure.
int index_of(acp_list_t list, const acp_list_it_t& it) {
    if (it.elem == ACP_GA_NULL) return -1;
    EXPECT_EQ(it.list.ga, list.ga);
    return acp_distance_list_it(acp_begin_list(list), it);
}

struct Change {
    const char* what;
    std::string before;
    std::function<std::int64_t(acp_list_t)> call;
    std::int64_t result;
    int code;
    std::string after;
};

class ListsTest : public OneRankJob {
protected:
    void expect_changes(const std::vector<Change>& rows) {
        for (const Change& row : rows) {
            SCOPED_TRACE(std::string(row.what) + " of \"" + row.before + "\"");
            const acp_list_t list = made(row.before);
            acp_clear_errno();
            EXPECT_EQ(row.call(list), row.result) << acp_error_message();
            EXPECT_EQ(acp_errno(), row.code) << acp_error_message();
            EXPECT_EQ(content_of(list), row.after);
            EXPECT_EQ(acp_destroy_list(list), 0) << acp_error_message();
        }
    }

    void TearDown() override { expect_unchanged(); }
};

TEST_F(ListsTest, elements_are_added_and_removed_at_both_ends) {
    using H = acp_list_t;
    expect_changes({
        {"push_back", "", [](H h) { return acp_push_back_list(h, "x", 1, 0); }, 0, 0, "x"},
        {"push_back", "a b", [](H h) { return acp_push_back_list(h, "xyz", 3, 0); }, 0, 0,
         "a b xyz"},
        {"push_front", "", [](H h) { return acp_push_front_list(h, "x", 1, 0); }, 0, 0, "x"},
        {"push_front", "a b", [](H h) { return acp_push_front_list(h, "xyz", 3, 0); }, 0, 0,
         "xyz a b"},
        {"pop_back", "", [](H h) { return acp_pop_back_list(h); }, 0, 0, ""},
        {"pop_back", "a", [](H h) { return acp_pop_back_list(h); }, 0, 0, ""},
        {"pop_back", "a b c", [](H h) { return acp_pop_back_list(h); }, 0, 0, "a b"},
        {"pop_front", "", [](H h) { return acp_pop_front_list(h); }, 0, 0, ""},
        {"pop_front", "a", [](H h) { return acp_pop_front_list(h); }, 0, 0, ""},
        {"pop_front", "a b c", [](H h) { return acp_pop_front_list(h); }, 0, 0, "b c"},
        {"clear", "", [](H h) { return acp_clear_list(h); }, 0, 0, ""},
        {"clear", "a b c", [](H h) { return acp_clear_list(h); }, 0, 0, ""},
    });
}

TEST_F(ListsTest, a_take_returns_the_length_of_one_element_and_its_first_bytes) {
    struct Row {
        const char* before;
        bool is_front;
        std::size_t room;
        std::int64_t result;
        int code;
        const char* taken;
        const char* after;
    };

    for (const Row& row : {
             Row{"", true, 4, ACP_NONE, 0, "", ""},
             Row{"", false, 0, ACP_NONE, 0, "", ""},
             Row{"abc de", true, 4, 3, 0, "abc", "de"},
             Row{"abc de", false, 4, 2, 0, "de", "abc"},
             Row{"abcd", true, 4, 4, 0, "abcd", ""},
             Row{"abcde f", true, 4, -1, ACP_ERR_TRUNCATED, "abcd", "f"},
             Row{"a bcdef", false, 4, -1, ACP_ERR_TRUNCATED, "bcde", "a"},
             Row{"a b", true, 0, -1, ACP_ERR_TRUNCATED, "", "b"},
         }) {
        SCOPED_TRACE(std::string(row.before) + (row.is_front ? ", front" : ", back"));
        const acp_list_t list = made(row.before);
        std::string room(8, '?');
        char* const to = row.room == 0 ? nullptr : room.data();
        acp_clear_errno();
        EXPECT_EQ(row.is_front ? acp_take_front_list(list, to, row.room)
                               : acp_take_back_list(list, to, row.room),
                  row.result);
        EXPECT_EQ(acp_errno(), row.code) << acp_error_message();
        const std::string taken = row.taken;
        EXPECT_EQ(room, taken + std::string(8 - taken.size(), '?')) << "a byte too many";
        EXPECT_EQ(content_of(list), row.after);
        EXPECT_EQ(acp_destroy_list(list), 0);
    }
}

TEST_F(ListsTest, elements_have_any_length) {
    const acp_list_t list = acp_create_list(0);
    for (const std::size_t size : {0U, 1U, 7U, 8U, 959U, 960U, 961U, 1024U, 1025U, 100'000U}) {
        SCOPED_TRACE(size);
        std::string bytes(size, ' ');
        for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i % 251);
        ASSERT_EQ(acp_push_back_list(list, size == 0 ? nullptr : bytes.data(), size, 0), 0)
            << acp_error_message();
        const acp_list_it_t it = acp_begin_list(list);
        const acp_element_t element = acp_dereference_list_it(it);
        ASSERT_NE(element.ga, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(element.size, size);
        EXPECT_EQ(element.ga % 8, 0U) << "aligned to 8";
        if (size != 0) {
            EXPECT_EQ(std::memcmp(acp_query_address(element.ga), bytes.data(), size), 0);
        }
        for (const std::size_t room : {std::size_t{0}, size / 2, size, size + 1}) {
            std::string read(size + 2, '?');
            EXPECT_EQ(acp_read_list(it, room == 0 ? nullptr : read.data(), room),
                      static_cast<std::int64_t>(size));
            const std::size_t copied = std::min(room, size);
            EXPECT_EQ(read, bytes.substr(0, copied) + std::string(size + 2 - copied, '?'));
        }
        std::string taken(size + 2, '?');
        EXPECT_EQ(acp_take_front_list(list, taken.data(), size), static_cast<std::int64_t>(size));
        EXPECT_EQ(taken, bytes + "??");
    }
    EXPECT_EQ(acp_destroy_list(list), 0);
}

TEST_F(ListsTest, an_iterator_advances_at_most_to_the_end_or_to_the_first_element) {
    for (const char* const content : {"", "a", "a b c d e"}) {
        SCOPED_TRACE(content);
        const acp_list_t list = made(content);
        const int size = static_cast<int>(acp_size_list(list));
        for (int from = 0; from <= size; ++from) {
            const acp_list_it_t it = nth(list, from);
            ASSERT_EQ(index_of(list, it), from);
            for (const int steps : {0, 1, 2, 4, 5, 6, INT_MAX, -1, -2, -5, -6, INT_MIN}) {
                const std::int64_t place =
                    std::clamp<std::int64_t>(std::int64_t{from} + steps, 0, std::int64_t{size});
                EXPECT_EQ(index_of(list, acp_advance_list_it(it, steps)), place)
                    << steps << " from " << from;
            }
            EXPECT_EQ(index_of(list, acp_increment_list_it(it)), std::min(from + 1, size));
            EXPECT_EQ(index_of(list, acp_decrement_list_it(it)), std::max(from - 1, 0));
            EXPECT_EQ(acp_distance_list_it(it, acp_end_list(list)), size - from);
            EXPECT_EQ(acp_distance_list_it(it, it), 0);
        }
        EXPECT_EQ(acp_begin_list(list).elem == acp_end_list(list).elem, size == 0);
        EXPECT_EQ(acp_destroy_list(list), 0);
    }
}

TEST_F(ListsTest, a_distance_backward_or_between_two_lists_is_refused) {
    const acp_list_t list = made("a b c"), other = made("a b c");
    const auto refused = [](int distance, int code) {
        EXPECT_EQ(distance, -1);
        EXPECT_EQ(acp_errno(), code) << acp_error_message();
        acp_clear_errno();
    };
    refused(acp_distance_list_it(nth(list, 2), nth(list, 1)), bad);
    refused(acp_distance_list_it(acp_end_list(list), nth(list, 0)), bad);
    refused(acp_distance_list_it(nth(list, 0), nth(other, 1)), bad);
    refused(acp_distance_list_it(nth(list, 0), acp_end_list(other)), bad);
    const acp_list_it_t erased = nth(list, 1);
    EXPECT_EQ(index_of(list, acp_erase_list(erased)), 1);
    refused(acp_distance_list_it(erased, acp_end_list(list)), stale);
    refused(acp_distance_list_it(nth(list, 0), erased), stale);
    EXPECT_EQ(acp_destroy_list(list), 0);
    EXPECT_EQ(acp_destroy_list(other), 0);
}

TEST_F(ListsTest, elements_are_inserted_erased_and_moved_at_iterators) {
    using H = acp_list_t;
    const auto insert = [](int index, const char* word) {
        return [=](H h) {
            const acp_list_it_t it = acp_insert_list(nth(h, index), word, std::strlen(word), 0);
            EXPECT_EQ(element_at(it), word);
            return index_of(h, it);
        };
    };
    const auto erase = [](int index) {
        return [=](H h) { return index_of(h, acp_erase_list(nth(h, index))); };
    };
    const auto splice = [](int before, int index) {
        return [=](H h) { return acp_splice_list(nth(h, before), nth(h, index)); };
    };
    expect_changes({
        {"insert", "", insert(0, "x"), 0, 0, "x"},
        {"insert at the begin", "a b", insert(0, "xy"), 0, 0, "xy a b"},
        {"insert in the middle", "a b", insert(1, "xy"), 1, 0, "a xy b"},
        {"insert at the end", "a b", insert(2, "xy"), 2, 0, "a b xy"},
        {"erase the only element", "a", erase(0), 0, 0, ""},
        {"erase the first element", "a b c", erase(0), 0, 0, "b c"},
        {"erase the last element", "a b c", erase(2), 2, 0, "a b"},
        {"erase the end", "a b c", erase(3), -1, bad, "a b c"},
        {"erase the end", "", erase(0), -1, bad, ""},
        {"splice to the begin", "a b c", splice(0, 2), 0, 0, "c a b"},
        {"splice to the end", "a b c", splice(3, 0), 0, 0, "b c a"},
        {"splice to the middle", "a b c d", splice(1, 3), 0, 0, "a d b c"},
        {"splice before the next element", "a b c", splice(2, 1), 0, 0, "a b c"},
        {"splice the last element to the end", "a b c", splice(3, 2), 0, 0, "a b c"},
        {"splice before itself", "a b c", splice(1, 1), 0, 0, "a b c"},
        {"splice the end", "a b c", splice(1, 3), -1, bad, "a b c"},
        {"splice the end before itself", "", splice(0, 0), -1, bad, ""},
    });
}

TEST_F(ListsTest, ranges_are_inserted_erased_assigned_and_moved) {
    using H = acp_list_t;
    const H other = made("0 1 2 3");
    const auto insert = [=](int index, int from, int to) {
        return [=](H h) {
            return index_of(h,
                            acp_insert_range_list(nth(h, index), nth(other, from), nth(other, to)));
        };
    };
    const auto erase = [](int from, int to) {
        return [=](H h) { return index_of(h, acp_erase_range_list(nth(h, from), nth(h, to))); };
    };
    const auto splice = [](int before, int from, int to) {
        return [=](H h) { return acp_splice_range_list(nth(h, before), nth(h, from), nth(h, to)); };
    };
    expect_changes({
        {"insert an empty range", "a b", insert(1, 2, 2), 1, 0, "a b"},
        {"insert a range at the begin", "a b", insert(0, 1, 3), 0, 0, "1 2 a b"},
        {"insert all of another list", "a b", insert(2, 0, 4), 2, 0, "a b 0 1 2 3"},
        {"insert a range", "", insert(0, 3, 4), 0, 0, "3"},
        {"insert a range that ends before it begins", "a", insert(0, 2, 1), -1, bad, "a"},
        {"insert a range of the own list", "a b c",
         [](H h) { return index_of(h, acp_insert_range_list(nth(h, 1), nth(h, 0), nth(h, 3))); }, 1,
         0, "a a b c b c"},
        {"erase an empty range", "a b c", erase(1, 1), 1, 0, "a b c"},
        {"erase an empty range at the end", "a b c", erase(3, 3), 3, 0, "a b c"},
        {"erase the middle", "a b c d", erase(1, 3), 1, 0, "a d"},
        {"erase all", "a b c", erase(0, 3), 0, 0, ""},
        {"erase a range that ends before it begins", "a b c", erase(2, 1), -1, bad, "a b c"},
        {"erase from the end", "a b c", erase(3, 0), -1, bad, "a b c"},
        {"erase a range of two lists", "a b c",
         [=](H h) { return index_of(h, acp_erase_range_list(nth(h, 0), nth(other, 1))); }, -1, bad,
         "a b c"},
        {"splice an empty range", "a b c", splice(0, 1, 1), 0, 0, "a b c"},
        {"splice a range to the begin", "a b c d", splice(0, 1, 3), 0, 0, "b c a d"},
        {"splice a range to the end", "a b c d", splice(4, 0, 2), 0, 0, "c d a b"},
        {"splice a range to its own end", "a b c d", splice(3, 1, 3), 0, 0, "a b c d"},
        {"splice all to the end", "a b c", splice(3, 0, 3), 0, 0, "a b c"},
        {"splice a range before its first element", "a b c d", splice(1, 1, 3), -1, bad, "a b c d"},
        {"splice a range into itself", "a b c d", splice(2, 1, 4), -1, bad, "a b c d"},
        {"assign a range", "a b",
         [=](H h) { return acp_assign_range_list(h, nth(other, 1), nth(other, 3)); }, 0, 0, "1 2"},
        {"assign an empty range", "a b",
         [=](H h) { return acp_assign_range_list(h, nth(other, 1), nth(other, 1)); }, 0, 0, ""},
        {"assign a part of itself", "a b c",
         [](H h) { return acp_assign_range_list(h, nth(h, 1), nth(h, 3)); }, 0, 0, "b c"},
        {"assign a range of two lists", "a b",
         [=](H h) { return acp_assign_range_list(h, nth(other, 1), nth(h, 1)); }, -1, bad, "a b"},
        {"assign", "a b", [=](H h) { return acp_assign_list(h, other); }, 0, 0, "0 1 2 3"},
        {"assign itself", "a b", [](H h) { return acp_assign_list(h, h); }, 0, 0, "a b"},
    });
    EXPECT_EQ(content_of(other), "0 1 2 3");
    EXPECT_EQ(acp_destroy_list(other), 0);
}

int by_bytes(const acp_element_t one, const acp_element_t other) {
    const auto* const first = static_cast<const char*>(acp_query_address(one.ga));
    const auto* const second = static_cast<const char*>(acp_query_address(other.ga));
    return *first - *second;  // the first byte alone: elements may be equal and differ
}

TEST_F(ListsTest, whole_lists_are_sorted_reversed_and_freed_of_elements) {
    using H = acp_list_t;
    const auto remove = [](const char* word) {
        return [=](H h) { return acp_remove_list(h, word, std::strlen(word)); };
    };
    const auto sort = [](H h) { return acp_sort_list(h, by_bytes); };
    expect_changes({
        {"reverse", "", [](H h) { return acp_reverse_list(h); }, 0, 0, ""},
        {"reverse", "a", [](H h) { return acp_reverse_list(h); }, 0, 0, "a"},
        {"reverse", "a b c d", [](H h) { return acp_reverse_list(h); }, 0, 0, "d c b a"},
        {"sort", "", sort, 0, 0, ""},
        {"sort", "a", sort, 0, 0, "a"},
        {"sort", "d b c a", sort, 0, 0, "a b c d"},
        {"sort", "b2 a1 b1 a2 b3 a0", sort, 0, 0, "a1 a2 a0 b2 b1 b3"},
        {"remove", "", remove("a"), 0, 0, ""},
        {"remove", "a b a ab a", remove("a"), 0, 0, "b ab"},
        {"remove what is not there", "a b", remove("c"), 0, 0, "a b"},
        {"remove a part of an element", "abc", remove("ab"), 0, 0, "abc"},
        {"remove all", "a a a", remove("a"), 0, 0, ""},
        {"remove elements of 0 bytes", "a b",
         [](H h) {
             EXPECT_EQ(acp_push_front_list(h, nullptr, 0, 0), 0);
             return acp_remove_list(h, nullptr, 0);
         },
         0, 0, "a b"},
        {"unique", "", [](H h) { return acp_unique_list(h); }, 0, 0, ""},
        {"unique", "a a b b b a c c", [](H h) { return acp_unique_list(h); }, 0, 0, "a b a c"},
        {"unique", "a aa a", [](H h) { return acp_unique_list(h); }, 0, 0, "a aa a"},
        {"swap with itself", "a b", [](H h) { return acp_swap_list(h, h); }, 0, 0, "a b"},
        {"merge with itself", "a b", [](H h) { return acp_merge_list(h, h, by_bytes); }, 0, 0,
         "a b"},
    });
}

TEST_F(ListsTest, two_lists_are_merged_and_exchanged) {
    struct Row {
        const char* one;
        const char* other;
        const char* merged;
    };

    for (const Row& row : {Row{"", "", ""}, Row{"a c", "", "a c"}, Row{"", "a c", "a c"},
                           Row{"a c e", "b d f", "a b c d e f"},
                           Row{"a1 b1", "a2 b2", "a1 a2 b1 b2"}, Row{"x y", "a b", "a b x y"}}) {
        SCOPED_TRACE(std::string(row.one) + " and " + row.other);
        const acp_list_t one = made(row.one), other = made(row.other);
        EXPECT_EQ(acp_swap_list(one, other), 0) << acp_error_message();
        EXPECT_EQ(content_of(one), row.other);
        EXPECT_EQ(content_of(other), row.one);
        EXPECT_EQ(acp_merge_list(other, one, by_bytes), 0) << acp_error_message();
        EXPECT_EQ(content_of(other), row.merged);
        EXPECT_EQ(content_of(one), "");
        EXPECT_EQ(acp_destroy_list(one), 0);
        EXPECT_EQ(acp_destroy_list(other), 0);
    }
}

TEST_F(ListsTest, iterators_stay_valid_until_their_element_leaves_the_list) {
    const acp_list_t list = made("a b c"), other = made("x y");
    const acp_list_it_t b = nth(list, 1), c = nth(list, 2), end = acp_end_list(list);
    EXPECT_EQ(acp_push_front_list(list, "0", 1, 0), 0);
    EXPECT_EQ(acp_reverse_list(list), 0);
    EXPECT_EQ(acp_sort_list(list, by_bytes), 0);
    EXPECT_EQ(acp_splice_list(end, b), 0);
    EXPECT_EQ(element_at(b), "b") << "moved within its list";
    EXPECT_EQ(content_of(list), "0 a c b");
    EXPECT_EQ(acp_splice_list(nth(other, 1), b), 0);
    EXPECT_EQ(content_of(other), "x b y");
    EXPECT_EQ(index_of(list, acp_erase_list(c)), 2);

    std::array<char, 8> room{};
    const auto refused = [](bool has_failed, const char* call) {
        SCOPED_TRACE(call);
        EXPECT_TRUE(has_failed);
        EXPECT_EQ(acp_errno(), stale) << acp_error_message();
        acp_clear_errno();
    };
    const auto is_none = [](const acp_list_it_t& it) { return it.elem == ACP_GA_NULL; };
    for (const acp_list_it_t& gone : {b, c}) {  // moved to another list, and erased
        refused(acp_read_list(gone, room.data(), room.size()) == -1, "read");
        refused(acp_dereference_list_it(gone).ga == ACP_GA_NULL, "dereference");
        refused(is_none(acp_increment_list_it(gone)), "increment");
        refused(is_none(acp_decrement_list_it(gone)), "decrement");
        refused(is_none(acp_advance_list_it(gone, 0)), "advance 0");
        refused(is_none(acp_advance_list_it(gone, 1)), "advance 1");
        refused(is_none(acp_advance_list_it(gone, -1)), "advance -1");
        refused(is_none(acp_erase_list(gone)), "erase");
        refused(is_none(acp_insert_list(gone, "n", 1, 0)), "insert");
        refused(acp_splice_list(gone, nth(list, 0)) == -1, "splice before");
        refused(acp_splice_list(end, gone) == -1, "splice");
        refused(acp_splice_range_list(end, gone, end) == -1, "splice_range");
        refused(acp_splice_range_list(gone, nth(list, 0), end) == -1, "splice_range before");
        refused(is_none(acp_insert_range_list(gone, end, end)), "insert_range of nothing before");
        refused(is_none(acp_erase_range_list(gone, end)), "erase_range");
        refused(acp_assign_range_list(other, gone, end) == -1, "assign_range");
    }
    EXPECT_EQ(content_of(list), "0 a");
    EXPECT_EQ(content_of(other), "x b y");
    EXPECT_EQ(acp_read_list(end, room.data(), room.size()), -1) << "the end has no bytes";
    EXPECT_EQ(acp_errno(), bad) << acp_error_message();
    EXPECT_EQ(acp_dereference_list_it(end).ga, ACP_GA_NULL);
    EXPECT_EQ(acp_destroy_list(list), 0);
    EXPECT_EQ(acp_destroy_list(other), 0);
}

TEST_F(ListsTest, a_list_without_room_for_an_element_stays_as_it_is) {
    const acp_list_t list = made("a b");
    const std::string large(std::size_t{7} << 20, 'l');
    const auto full = [](bool has_failed) {
        EXPECT_TRUE(has_failed);
        EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
        acp_clear_errno();
    };
    ASSERT_EQ(acp_push_back_list(list, large.data(), large.size(), 0), 0) << acp_error_message();
    full(acp_push_back_list(list, large.data(), large.size(), 0) == -1);
    full(acp_push_front_list(list, large.data(), large.size(), 0) == -1);
    full(acp_insert_list(nth(list, 1), large.data(), large.size(), 0).elem == ACP_GA_NULL);
    full(acp_insert_range_list(nth(list, 0), nth(list, 2), acp_end_list(list)).elem == ACP_GA_NULL);
    EXPECT_EQ(acp_size_list(list), 3U);
    EXPECT_EQ(acp_pop_back_list(list), 0);
    EXPECT_EQ(content_of(list), "a b");
    EXPECT_EQ(acp_destroy_list(list), 0);
}

}  // namespace
}  // namespace acp::api::test
