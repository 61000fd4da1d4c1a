// SPDX-License-Identifier: BSD-3-Clause
// What each call on a vector or a deque returns and leaves, at sizes from 0 to one byte more than
// there is. tests/conformance/vector_test.cpp and deque_test.cpp have the same calls on the memory
// of other ranks.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include <acp.h>

#include "support/random.hpp"
#include "unit/api/one_rank_job.hpp"
#include "unit/api/sequence_calls.hpp"

namespace acp::api::test {
namespace {

template <typename Calls>
class SequencesTest : public OneRankJob {};

using Kinds = testing::Types<VectorCalls, DequeCalls>;
TYPED_TEST_SUITE(SequencesTest, Kinds);

constexpr int bad = ACP_ERR_ARGUMENT;

TYPED_TEST(SequencesTest, bytes_are_added_and_removed_at_the_end) {
    using C = TypeParam;
    using H = typename C::Handle;
    const std::string thousand(1000, 't');
    expect_changes<C>({
        {"push_back 0 bytes", "", [](H h) { return C::push_back(h, nullptr, 0); }, 0, 0, ""},
        {"push_back 1 byte", "", [](H h) { return C::push_back(h, "x", 1); }, 0, 0, "x"},
        {"push_back 3 bytes", "ab", [](H h) { return C::push_back(h, "cde", 3); }, 0, 0, "abcde"},
        {"push_back of a 0 byte", "a", [](H h) { return C::push_back(h, "\0b", 2); }, 0, 0,
         std::string("a\0b", 3)},
        {"push_back 1000 bytes", "a",
         [&](H h) { return C::push_back(h, thousand.data(), thousand.size()); }, 0, 0,
         "a" + thousand},
        {"append 0 bytes", "", [](H h) { return C::append(h, nullptr, 0); }, 0, 0, ""},
        {"append 0 bytes", "abc", [](H h) { return C::append(h, nullptr, 0); }, 3, 0, "abc"},
        {"append 1 byte", "", [](H h) { return C::append(h, "x", 1); }, 0, 0, "x"},
        {"append 2 bytes", "abc", [](H h) { return C::append(h, "de", 2); }, 3, 0, "abcde"},
        {"append to", thousand, [](H h) { return C::append(h, "e", 1); }, 1000, 0, thousand + "e"},
        {"pop_back 0 bytes", "abc", [](H h) { return C::pop_back(h, 0); }, 0, 0, "abc"},
        {"pop_back 1 byte", "abc", [](H h) { return C::pop_back(h, 1); }, 0, 0, "ab"},
        {"pop_back all bytes", "abc", [](H h) { return C::pop_back(h, 3); }, 0, 0, ""},
        {"pop_back one byte too many", "abc", [](H h) { return C::pop_back(h, 4); }, 0, 0, ""},
        {"pop_back SIZE_MAX bytes", "abc", [](H h) { return C::pop_back(h, SIZE_MAX); }, 0, 0, ""},
        {"pop_back", "", [](H h) { return C::pop_back(h, 1); }, 0, 0, ""},
        {"clear", "abc", [](H h) { return C::clear(h); }, 0, 0, ""},
        {"clear", "", [](H h) { return C::clear(h); }, 0, 0, ""},
    });
    this->expect_unchanged();
}

TYPED_TEST(SequencesTest, a_take_returns_the_last_bytes_in_their_order) {
    using C = TypeParam;

    struct Row {
        const char* before;
        std::size_t size;
        const char* taken;
        const char* after;
    };

    for (const Row& row : {Row{"", 0, "", ""}, Row{"", 3, "", ""}, Row{"abc", 0, "", "abc"},
                           Row{"abc", 1, "c", "ab"}, Row{"abcde", 2, "de", "abc"},
                           Row{"abc", 3, "abc", ""}, Row{"abc", 4, "abc", ""}}) {
        SCOPED_TRACE(std::to_string(row.size) + " of \"" + row.before + "\"");
        const auto handle = made<C>(row.before);
        std::string room(8, '?');
        const std::string taken = row.taken;
        EXPECT_EQ(C::take_back(handle, row.size == 0 ? nullptr : room.data(), row.size),
                  static_cast<std::int64_t>(taken.size()));
        EXPECT_EQ(room, taken + std::string(8 - taken.size(), '?')) << "a byte too many";
        EXPECT_EQ(content_of<C>(handle), row.after);
        EXPECT_EQ(C::destroy(handle), 0);
    }
    this->expect_unchanged();
}

TYPED_TEST(SequencesTest, a_read_copies_what_there_is_and_no_byte_behind_it) {
    using C = TypeParam;
    const std::string content = "0123456789";
    const auto handle = made<C>(content);
    for (std::size_t index = 0; index <= content.size(); ++index) {
        for (std::size_t size = 0; size <= content.size() + 2; ++size) {
            SCOPED_TRACE(std::to_string(size) + " from " + std::to_string(index));
            std::string room(16, '?');
            const std::string wanted = content.substr(index, size);
            ASSERT_EQ(C::read(handle, static_cast<std::int64_t>(index),
                              size == 0 ? nullptr : room.data(), size),
                      static_cast<std::int64_t>(wanted.size()));
            ASSERT_EQ(room, wanted + std::string(16 - wanted.size(), '?'));
        }
    }
    EXPECT_EQ(C::destroy(handle), 0);
    this->expect_unchanged();
}

TYPED_TEST(SequencesTest, bytes_are_replaced_and_inserted_at_any_place) {
    using C = TypeParam;
    using H = typename C::Handle;
    const auto insert = [](std::int64_t index, std::string_view text) {
        return [=](H h) {
            return place_in<C>(h, C::insert(C::at(h, index), text.data(), text.size()));
        };
    };
    const auto write = [](std::int64_t index, std::string_view text) {
        return [=](H h) { return C::write(h, index, text.data(), text.size()); };
    };
    expect_changes<C>({
        {"write the first byte", "abc", write(0, "X"), 0, 0, "Xbc"},
        {"write the last byte", "abc", write(2, "X"), 0, 0, "abX"},
        {"write all bytes", "abc", write(0, "XYZ"), 0, 0, "XYZ"},
        {"write 0 bytes at the end", "abc", write(3, ""), 0, 0, "abc"},
        {"write NULL", "abc", [](H h) { return C::write(h, 1, nullptr, 0); }, 0, 0, "abc"},
        {"write 1 byte at the end", "abc", write(3, "X"), -1, bad, "abc"},
        {"write over the end", "abc", write(2, "XY"), -1, bad, "abc"},
        {"write to nothing", "", write(0, "X"), -1, bad, ""},
        {"insert at the begin", "abc", insert(0, "XY"), 0, 0, "XYabc"},
        {"insert in the middle", "abc", insert(1, "XY"), 1, 0, "aXYbc"},
        {"insert at the end", "abc", insert(3, "XY"), 3, 0, "abcXY"},
        {"insert behind the end", "abc", insert(4, "XY"), 3, 0, "abcXY"},
        {"insert far behind the end", "abc", insert(INT64_MAX, "X"), 3, 0, "abcX"},
        {"insert 0 bytes", "abc", insert(1, ""), 1, 0, "abc"},
        {"insert NULL", "abc",
         [](H h) { return place_in<C>(h, C::insert(C::at(h, 2), nullptr, 0)); }, 2, 0, "abc"},
        {"insert 0 bytes behind the end", "abc", insert(9, ""), 3, 0, "abc"},
        {"insert", "", insert(0, "X"), 0, 0, "X"},
        {"insert before the begin", "abc", insert(-1, "X"), -1, bad, "abc"},
    });
    this->expect_unchanged();
}

TYPED_TEST(SequencesTest, bytes_are_erased_as_far_as_they_exist) {
    using C = TypeParam;
    using H = typename C::Handle;
    const auto erase = [](std::int64_t index, std::size_t bytes) {
        return [=](H h) { return place_in<C>(h, C::erase(C::at(h, index), bytes)); };
    };
    const auto range = [](std::int64_t from, std::int64_t to) {
        return [=](H h) { return place_in<C>(h, C::erase_range(C::at(h, from), C::at(h, to))); };
    };
    expect_changes<C>({
        {"erase 0 bytes", "abcde", erase(1, 0), 1, 0, "abcde"},
        {"erase the first byte", "abcde", erase(0, 1), 0, 0, "bcde"},
        {"erase from the middle", "abcde", erase(1, 2), 1, 0, "ade"},
        {"erase the last byte", "abcde", erase(4, 1), 4, 0, "abcd"},
        {"erase all bytes", "abcde", erase(0, 5), 0, 0, ""},
        {"erase more bytes than there are", "abcde", erase(3, 9), 3, 0, "abc"},
        {"erase SIZE_MAX bytes", "abcde", erase(2, SIZE_MAX), 2, 0, "ab"},
        {"erase at the end", "abcde", erase(5, 1), 5, 0, "abcde"},
        {"erase", "", erase(0, 1), 0, 0, ""},
        {"erase an empty range", "abcde", range(2, 2), 2, 0, "abcde"},
        {"erase a range", "abcde", range(1, 4), 1, 0, "ae"},
        {"erase the whole range", "abcde", range(0, 5), 0, 0, ""},
        {"erase a range that ends behind the end", "abcde", range(3, 9), 3, 0, "abc"},
        {"erase an empty range at the end", "abcde", range(5, 5), 5, 0, "abcde"},
        {"erase a range that ends before it begins", "abcde", range(3, 2), -1, bad, "abcde"},
        {"erase a range that begins before the first byte", "abcde", range(-1, 2), -1, bad,
         "abcde"},
    });
    this->expect_unchanged();
}

// `other` holds "0123".
TYPED_TEST(SequencesTest, ranges_are_inserted_and_assigned) {
    using C = TypeParam;
    using H = typename C::Handle;
    const H other = made<C>("0123");
    const auto insert = [](std::int64_t index, H from, std::int64_t begin, std::int64_t end) {
        return [=](H h) {
            const H source = from.ga == ACP_GA_NULL ? h : from;
            return place_in<C>(
                h, C::insert_range(C::at(h, index), C::at(source, begin), C::at(source, end)));
        };
    };
    const auto assign = [](H from, std::int64_t begin, std::int64_t end) {
        return [=](H h) {
            const H source = from.ga == ACP_GA_NULL ? h : from;
            return C::assign_range(h, C::at(source, begin), C::at(source, end));
        };
    };
    const H own{ACP_GA_NULL};
    expect_changes<C>({
        {"insert an empty range", "abc", insert(1, other, 2, 2), 1, 0, "abc"},
        {"insert a range at the begin", "abc", insert(0, other, 1, 3), 0, 0, "12abc"},
        {"insert a range in the middle", "abc", insert(2, other, 0, 4), 2, 0, "ab0123c"},
        {"insert a range at the end", "abc", insert(3, other, 3, 4), 3, 0, "abc3"},
        {"insert a range behind the end", "abc", insert(7, other, 0, 1), 3, 0, "abc0"},
        {"insert a range that ends behind the end", "abc", insert(0, other, 2, 9), 0, 0, "23abc"},
        {"insert a range to an empty container", "", insert(0, other, 0, 4), 0, 0, "0123"},
        {"insert the own content", "abc", insert(1, own, 0, 3), 1, 0, "aabcbc"},
        {"insert a part of the own content", "abc", insert(3, own, 1, 2), 3, 0, "abcb"},
        {"insert a range that ends before it begins", "abc", insert(0, other, 2, 1), -1, bad,
         "abc"},
        {"insert a range of two containers", "abc",
         [=](H h) {
             return place_in<C>(h, C::insert_range(C::begin(h), C::begin(h), C::end(other)));
         },
         -1, bad, "abc"},
        {"insert before the begin", "abc", insert(-1, other, 0, 1), -1, bad, "abc"},
        {"assign an empty range", "abc", assign(other, 1, 1), 0, 0, ""},
        {"assign a range", "abc", assign(other, 1, 3), 0, 0, "12"},
        {"assign a range that ends behind the end", "abc", assign(other, 2, 9), 0, 0, "23"},
        {"assign a part of the own content", "abc", assign(own, 1, 3), 0, 0, "bc"},
        {"assign a range that ends before it begins", "abc", assign(other, 3, 1), -1, bad, "abc"},
        {"assign a range of two containers", "abc",
         [=](H h) { return C::assign_range(h, C::begin(other), C::end(h)); }, -1, bad, "abc"},
        {"assign", "abc", [=](H h) { return C::assign(h, other); }, 0, 0, "0123"},
        {"assign", "", [=](H h) { return C::assign(h, other); }, 0, 0, "0123"},
        {"assign itself", "abc", [](H h) { return C::assign(h, h); }, 0, 0, "abc"},
        {"swap with itself", "abc", [](H h) { return C::swap(h, h); }, 0, 0, "abc"},
    });
    EXPECT_EQ(content_of<C>(other), "0123") << "the source of a range has changed";
    EXPECT_EQ(C::destroy(other), 0);
    this->expect_unchanged();
}

TYPED_TEST(SequencesTest, a_swap_exchanges_the_contents) {
    using C = TypeParam;
    const std::string thousand(1000, 't');
    for (const auto& [one, two] : std::vector<std::pair<std::string, std::string>>{
             {"", ""}, {"abc", ""}, {"", "abc"}, {"abc", "01234567"}, {"a", thousand}}) {
        SCOPED_TRACE(one + " and " + two);
        const auto first = made<C>(one), second = made<C>(two);
        EXPECT_EQ(C::swap(first, second), 0) << acp_error_message();
        EXPECT_EQ(content_of<C>(first), two);
        EXPECT_EQ(content_of<C>(second), one);
        EXPECT_EQ(C::destroy(first), 0);
        EXPECT_EQ(C::destroy(second), 0);
    }
    this->expect_unchanged();
}

TYPED_TEST(SequencesTest, a_reserve_raises_the_capacity_and_never_lowers_it) {
    using C = TypeParam;
    const auto handle = made<C>("abc");
    for (const std::size_t size : {0U, 1U, 3U, 100U, 4096U}) {
        SCOPED_TRACE(size);
        const std::size_t before = C::capacity(handle);
        EXPECT_EQ(C::reserve(handle, size), 0);
        EXPECT_GE(C::capacity(handle), std::max(before, size));
        EXPECT_EQ(C::reserve(handle, size / 2), 0);
        EXPECT_GE(C::capacity(handle), std::max(before, size));
        EXPECT_EQ(content_of<C>(handle), "abc");
    }
    const std::size_t capacity = C::capacity(handle);
    EXPECT_EQ(C::clear(handle), 0);
    EXPECT_EQ(C::capacity(handle), capacity) << "a clear keeps the capacity";
    EXPECT_EQ(C::destroy(handle), 0);
    this->expect_unchanged();
}

TYPED_TEST(SequencesTest, pushes_up_to_the_capacity_move_no_byte_and_one_more_keeps_the_content) {
    using C = TypeParam;
    const auto handle = C::create(0, 0);
    ASSERT_EQ(C::reserve(handle, 64), 0);
    const std::size_t capacity = C::capacity(handle);
    std::string wanted(capacity, ' ');
    for (std::size_t i = 0; i < capacity; ++i) wanted[i] = static_cast<char>('a' + i % 26);
    ASSERT_EQ(C::push_back(handle, wanted.data(), 1), 0);
    const acp_ga_t first = C::address(handle, 0);
    ASSERT_NE(first, ACP_GA_NULL) << acp_error_message();
    ASSERT_EQ(C::push_back(handle, wanted.data() + 1, capacity - 1), 0);
    EXPECT_EQ(C::capacity(handle), capacity);
    EXPECT_EQ(C::address(handle, 0), first);
    EXPECT_EQ(C::address(handle, static_cast<std::int64_t>(capacity) - 1), first + capacity - 1);
    EXPECT_EQ(std::memcmp(acp_query_address(first), wanted.data(), capacity), 0);
    ASSERT_EQ(C::push_back(handle, "!", 1), 0);
    EXPECT_GT(C::capacity(handle), capacity);
    EXPECT_EQ(content_of<C>(handle), wanted + "!");
    EXPECT_EQ(C::destroy(handle), 0);
    this->expect_unchanged();
}

TYPED_TEST(SequencesTest, an_assignment_shrinks_a_capacity_of_more_than_four_times_the_content) {
    using C = TypeParam;
    const auto handle = made<C>(std::string(100'000, 'l'));
    const auto little = made<C>("little");
    EXPECT_EQ(C::assign(handle, little), 0);
    EXPECT_LT(C::capacity(handle), 1000U);
    EXPECT_EQ(content_of<C>(handle), "little");
    EXPECT_EQ(C::destroy(handle), 0);
    EXPECT_EQ(C::destroy(little), 0);
    this->expect_unchanged();
}

TYPED_TEST(SequencesTest, iterators_advance_and_their_distance_is_counted_without_a_check) {
    using C = TypeParam;
    const auto handle = made<C>("abcde");

    struct Row {
        std::int64_t from;
        std::int64_t steps;
        std::int64_t to;
    };

    for (const Row& row : {Row{0, 0, 0}, Row{0, 5, 5}, Row{5, -5, 0}, Row{0, -1, -1},
                           Row{3, 100, 103}, Row{INT64_MAX, 1, INT64_MIN},
                           Row{INT64_MIN, -1, INT64_MAX}, Row{-1, INT64_MIN, INT64_MAX}}) {
        SCOPED_TRACE(row.from);
        const auto it = C::advance(C::at(handle, row.from), row.steps);
        EXPECT_EQ(it.index, row.to);
        EXPECT_EQ(C::of(it).ga, handle.ga);
        EXPECT_EQ(C::distance(C::at(handle, row.from), it), row.steps);
    }
    EXPECT_EQ(C::begin(handle).index, 0);
    EXPECT_EQ(C::of(C::begin(handle)).ga, handle.ga);
    EXPECT_EQ(C::distance(C::begin(handle), C::end(handle)), 5);
    EXPECT_EQ(C::distance(C::end(handle), C::begin(handle)), -5);
    EXPECT_EQ(C::destroy(handle), 0);
    this->expect_unchanged();
}

// 8 MiB of heap: 5 MiB are in the container, so no other body has room for them.
TYPED_TEST(SequencesTest, a_call_without_room_for_a_new_body_leaves_the_old_one) {
    using C = TypeParam;
    const std::string large(std::size_t{5} << 20, 'l');
    const auto handle = C::create(0, 0);
    ASSERT_EQ(C::reserve(handle, large.size()), 0) << acp_error_message();
    ASSERT_EQ(C::push_back(handle, large.data(), large.size()), 0) << acp_error_message();
    const auto other = made<C>("other");
    const std::size_t capacity = C::capacity(handle);
    const std::size_t over = capacity - large.size() + 1;
    const auto full = [](bool has_failed) {
        EXPECT_TRUE(has_failed);
        EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
        acp_clear_errno();
    };
    const auto it = C::at(handle, 1);
    full(C::push_back(handle, large.data(), over) == -1);
    full(C::append(handle, large.data(), over) == -1);
    full(C::of(C::insert(it, "x", 1)).ga == ACP_GA_NULL);
    full(C::of(C::erase(it, 1)).ga == ACP_GA_NULL);
    full(C::write(handle, 0, "x", 1) == -1);
    full(C::reserve(handle, capacity + 1) == -1);
    full(C::assign(other, handle) == -1);
    full(C::swap(other, handle) == -1);
    full(C::swap(handle, other) == -1);
    full(C::of(C::insert_range(C::begin(other), C::begin(handle), C::end(handle))).ga ==
         ACP_GA_NULL);
    EXPECT_EQ(content_of<C>(handle), large);
    EXPECT_EQ(content_of<C>(other), "other");
    EXPECT_EQ(C::capacity(handle), capacity);
    EXPECT_EQ(C::of(C::erase(C::at(handle, 2), SIZE_MAX)).ga, handle.ga)
        << "the end is erased in place";
    EXPECT_EQ(content_of<C>(handle), "ll");
    EXPECT_EQ(C::destroy(handle), 0);
    EXPECT_EQ(C::destroy(other), 0);
    this->expect_unchanged();
}

// A container and a string after the same random calls. ACP_TEST_SEED repeats a run.
TYPED_TEST(SequencesTest, random_calls_leave_what_they_leave_of_a_string) {
    using C = TypeParam;
    const char* const given = std::getenv("ACP_TEST_SEED");
    const std::uint64_t seed =
        given != nullptr ? std::strtoull(given, nullptr, 10) : acp::test::fresh_seed();
    SCOPED_TRACE("repeat with ACP_TEST_SEED=" + std::to_string(seed));
    acp::test::Random random(seed);
    const auto handle = C::create(0, 0), other = made<C>("other");
    std::string model;
    for (int step = 0; step < 2000; ++step) {
        const std::string text(random.below(40), static_cast<char>('a' + step % 26));
        const std::size_t index = random.below(model.size() + 1);
        const auto at = static_cast<std::int64_t>(index);
        const std::size_t bytes = random.below(50);
        switch (random.below(7)) {
            case 0:
                ASSERT_EQ(C::append(handle, text.data(), text.size()),
                          static_cast<std::int64_t>(model.size()));
                model += text;
                break;
            case 1:
                ASSERT_EQ(C::of(C::insert(C::at(handle, at), text.data(), text.size())).ga,
                          handle.ga);
                model.insert(index, text);
                break;
            case 2:
                ASSERT_EQ(C::of(C::erase(C::at(handle, at), bytes)).ga, handle.ga);
                model.erase(index, bytes);
                break;
            case 3:
                ASSERT_EQ(C::pop_back(handle, bytes), 0);
                model.resize(model.size() - std::min(bytes, model.size()));
                break;
            case 4: {
                const bool fits = text.size() <= model.size() - index;
                ASSERT_EQ(C::write(handle, at, text.data(), text.size()), fits ? 0 : -1);
                if (fits) model.replace(index, text.size(), text);
                break;
            }
            case 5:
                ASSERT_EQ(
                    C::of(C::insert_range(C::at(handle, at), C::begin(other), C::end(other))).ga,
                    handle.ga);
                model.insert(index, "other");
                break;
            default:
                ASSERT_EQ(C::reserve(handle, model.size() + bytes), 0);
                break;
        }
        ASSERT_EQ(content_of<C>(handle), model) << "after step " << step;
    }
    EXPECT_EQ(C::destroy(handle), 0);
    EXPECT_EQ(C::destroy(other), 0);
    this->expect_unchanged();
}

}  // namespace
}  // namespace acp::api::test
