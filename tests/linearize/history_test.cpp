// SPDX-License-Identifier: BSD-3-Clause
// Tests of the checker itself, on histories made by hand: it must accept every history that some
// order explains and refuse the others.
#include "linearize/history.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "support/random.hpp"

namespace acp::test {
namespace {

WordOperation add(std::int64_t call, std::int64_t end, std::uint64_t value, std::uint64_t old) {
    return {call, end, WordVerb::add, 8, 0, value, 0, old};
}

WordOperation swap(std::int64_t call, std::int64_t end, std::uint64_t value, std::uint64_t old) {
    return {call, end, WordVerb::swap, 8, 0, value, 0, old};
}

WordOperation cas(std::int64_t call,
                  std::int64_t end,
                  std::uint64_t expected,
                  std::uint64_t desired,
                  std::uint64_t old) {
    return {call, end, WordVerb::cas, 8, 0, desired, expected, old};
}

WordOperation read(std::int64_t call, std::int64_t end, std::uint64_t value) {
    return {call, end, WordVerb::read, 8, 0, 0, 0, value};
}

WordOperation write(std::int64_t call, std::int64_t end, std::uint64_t value) {
    return {call, end, WordVerb::write, 8, 0, value, 0, 0};
}

using History = std::vector<WordOperation>;

void expect_good(const History& history, std::optional<std::uint64_t> final_value = std::nullopt) {
    EXPECT_EQ(check_history(history, 0, final_value).verdict, Verdict::linearizable);
}

void expect_bad(const History& history, std::optional<std::uint64_t> final_value = std::nullopt) {
    EXPECT_EQ(check_history(history, 0, final_value).verdict, Verdict::not_linearizable);
}

WordOperation of_key(std::int64_t call,
                     std::int64_t end,
                     WordVerb verb,
                     std::uint64_t operand,
                     std::uint64_t result) {
    return {call, end, verb, 8, 0, operand, 5, result};
}

// The verdict of a key that is absent at first.
Verdict verdict_of_key(const History& history, std::uint64_t final_value) {
    return check_history(history, absent_word, final_value).verdict;
}

TEST(History, accepts_the_empty_history) {
    expect_good({});
    expect_good({}, 0);
    expect_bad({}, 1);
}

TEST(History, accepts_operations_one_after_another) {
    expect_good({add(0, 1, 5, 0), swap(2, 3, 9, 5), cas(4, 5, 9, 1, 9), read(6, 7, 1)}, 1);
}

TEST(History, refuses_a_result_that_the_word_never_held) {
    expect_bad({add(0, 1, 5, 0), add(2, 3, 1, 4)});
}

TEST(History, refuses_a_lost_update) {
    expect_bad({add(0, 10, 1, 0), add(0, 10, 1, 0)});
}

TEST(History, refuses_a_read_of_a_value_that_was_overwritten_before_it_began) {
    expect_bad({write(0, 1, 7), write(2, 3, 8), read(4, 5, 7)});
}

TEST(History, accepts_overlapping_operations_in_any_order_that_fits) {
    expect_good({add(0, 10, 1, 2), add(0, 10, 2, 0)}, 3);
    expect_good({read(0, 10, 7), write(5, 6, 7)});
    expect_good({read(0, 10, 0), write(5, 6, 7)});
}

TEST(History, respects_real_time_between_operations_that_do_not_overlap) {
    expect_good({write(0, 10, 1), read(3, 4, 1), read(5, 6, 1)});
    expect_bad({write(0, 10, 1), read(3, 4, 1), read(5, 6, 0)});
}

TEST(History, refuses_two_winners_of_one_compare_and_swap) {
    expect_bad({cas(0, 10, 0, 1, 0), cas(0, 10, 0, 2, 0)});
    expect_good({cas(0, 10, 0, 1, 0), cas(0, 10, 0, 2, 1)}, 1);
}

TEST(History, refuses_a_failed_compare_and_swap_that_changed_the_word) {
    expect_bad({cas(0, 1, 5, 9, 0), read(2, 3, 9)});
}

TEST(History, wraps_narrow_words) {
    WordOperation narrow = add(0, 1, 0xffff'ffffU, 0);
    narrow.width = 4;
    WordOperation next = add(2, 3, 2, 0xffff'ffffU);
    next.width = 4;
    expect_good({narrow, next}, 1);
}

TEST(History, is_undecided_when_the_search_reaches_its_limit) {
    History history;
    for (std::uint64_t index = 0; index < 12; ++index) {
        history.push_back(write(0, 100, index));
    }
    history.push_back(read(101, 102, 99));
    EXPECT_EQ(check_history(history, 0, std::nullopt, 10).verdict, Verdict::undecided);
    expect_bad(history);
}

// Histories of operations that take effect at a random time inside their interval are linearizable;
// with one result replaced by a value that no operation wrote they are not.
TEST(History, decides_long_random_histories) {
    const std::uint64_t seed = fresh_seed();
    Random random(seed);
    for (int round = 0; round < 30; ++round) {
        History history;
        std::uint64_t word = 0;
        for (std::int64_t time = 0; time < 200; ++time) {
            const auto before = static_cast<std::int64_t>(random.below(40));
            const auto after = static_cast<std::int64_t>(random.below(40));
            WordOperation operation;
            operation.call_ns = 10 * time - before;
            operation.return_ns = 10 * time + after;
            operation.verb = static_cast<WordVerb>(random.below(word_verbs));
            operation.operand = random.below(4);
            operation.expected = random.below(4);
            operation.result = word;
            history.push_back(operation);
            if (operation.verb == WordVerb::add) {
                word += operation.operand;
            } else if (operation.verb == WordVerb::min) {
                word = std::min(word, operation.operand);  // none is negative
            } else if (operation.verb == WordVerb::max) {
                word = std::max(word, operation.operand);
            } else if (operation.verb == WordVerb::swap || operation.verb == WordVerb::write ||
                       (operation.verb == WordVerb::cas && operation.expected == word)) {
                word = operation.operand;
            }
        }
        EXPECT_EQ(check_history(history, 0, word).verdict, Verdict::linearizable)
            << "seed " << seed;
        WordOperation& spoiled = history[random.below(history.size())];
        spoiled.verb = WordVerb::swap;
        spoiled.result = 1'000'000;
        EXPECT_EQ(check_history(history, 0).verdict, Verdict::not_linearizable) << "seed " << seed;
    }
}

TEST(History, knows_the_verbs_of_keys) {
    using enum WordVerb;
    EXPECT_EQ(
        verdict_of_key(
            {of_key(0, 1, erase, 0, 0), of_key(2, 3, insert, 5, 1), of_key(4, 5, insert, 6, 0),
             of_key(6, 7, replace, 7, 1), of_key(8, 9, replace, 8, 0),
             of_key(10, 11, key_add, 3, 7), of_key(12, 13, erase, 0, 1),
             of_key(14, 15, replace, 8, key_is_absent), of_key(16, 17, read, 0, absent_word),
             of_key(18, 19, key_add, 4, absent_word), of_key(20, 21, read, 0, 4)},
            4),
        Verdict::linearizable);
}

TEST(History, refuses_two_insertions_of_a_key_without_an_erasure) {
    using enum WordVerb;
    EXPECT_EQ(verdict_of_key({of_key(0, 9, insert, 5, 1), of_key(0, 9, insert, 6, 1)}, 6),
              Verdict::not_linearizable);
    EXPECT_EQ(
        verdict_of_key(
            {of_key(0, 9, insert, 5, 1), of_key(0, 9, insert, 6, 1), of_key(0, 9, erase, 0, 1)}, 6),
        Verdict::linearizable);
}

TEST(History, refuses_a_find_of_a_key_that_was_erased_before) {
    using enum WordVerb;
    EXPECT_EQ(verdict_of_key(
                  {of_key(0, 1, insert, 5, 1), of_key(2, 3, erase, 0, 1), of_key(4, 5, read, 0, 5)},
                  absent_word),
              Verdict::not_linearizable);
}

}  // namespace
}  // namespace acp::test
