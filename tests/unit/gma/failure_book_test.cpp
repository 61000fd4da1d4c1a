// SPDX-License-Identifier: BSD-3-Clause
// Failures are noted, reported once, and remembered; none is lost if there is no memory for a
// record of each.
#include "gma/failure_book.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <malloc.h>
#include <string>

#include "claims/library_claims.hpp"
#include "support/refuse_memory.hpp"

namespace acp::gma {
namespace {

using acp::test::all_from_there;
using acp::test::Refusal;
using base::Code;

TEST(FailureBook, reports_each_failure_once_the_least_number_first) {
    FailureBook book;
    EXPECT_TRUE(book.is_clean());
    book.note(8, {Code::peer, "eight"});
    book.note(4, {Code::stale, "four"});
    book.note(12, {Code::address, "twelve"});
    EXPECT_EQ(book.first_untold(), 4U);
    EXPECT_TRUE(book.is_untold(8));
    EXPECT_FALSE(book.is_untold(6));
    EXPECT_FALSE(book.take(2).has_value());
    EXPECT_EQ(book.take(8)->message(), "four");
    EXPECT_EQ(book.take(8)->message(), "eight");
    EXPECT_FALSE(book.take(8).has_value());
    EXPECT_EQ(book.take(100)->message(), "twelve");
    EXPECT_EQ(book.first_untold(), 0U);
    EXPECT_TRUE(book.is_remembered(8));
    EXPECT_FALSE(book.is_clean());
}

TEST(FailureBook, shows_how_many_are_untold_and_the_message_of_the_first) {
    base::Config config;
    config.starter_bytes = 4096;
    const auto segment =
        node::Segment::create(node::shape_for(config, 2), claims::library_claims());
    ASSERT_TRUE(segment.is_ok());
    const node::UnreportedPlace place(segment.value(), 1);
    FailureBook book;
    book.show_in(place);
    EXPECT_EQ(place.read(), node::Unreported{});
    book.note(8, {Code::peer, "eight"});
    book.note(4, {Code::stale, "four"});
    book.note(12, {Code::address, "twelve"});
    EXPECT_EQ(place.read(), (node::Unreported{3, "four"}));
    EXPECT_TRUE(book.take_of(8).has_value());
    EXPECT_EQ(place.read(), (node::Unreported{2, "four"}));
    EXPECT_TRUE(book.take(12).has_value());
    EXPECT_EQ(place.read(), (node::Unreported{1, "twelve"}));
    EXPECT_TRUE(book.take(12).has_value());
    EXPECT_EQ(place.read(), node::Unreported{});
}

TEST(FailureBook, reports_once_to_each_thread_failures_that_others_got) {
    FailureBook book;
    book.note(4, {Code::stale, "four"});
    EXPECT_FALSE(book.told_to_others(4, 2).has_value()) << "no failure was reported yet";
    EXPECT_EQ(book.take(4, 1)->message(), "four");
    EXPECT_FALSE(book.told_to_others(4, 1).has_value());
    EXPECT_EQ(book.told_to_others(4, 2)->message(), "four");
    EXPECT_FALSE(book.told_to_others(4, 2).has_value());
    EXPECT_FALSE(book.told_to_others(2, 3).has_value());
}

TEST(FailureBook, reports_the_failure_of_one_number_and_leaves_those_before_it) {
    FailureBook book;
    for (const std::uint64_t number : {2U, 4U, 6U}) {
        book.note(number, {Code::address, std::to_string(number)});
    }
    EXPECT_EQ(book.take_of(4)->message(), "4");
    EXPECT_FALSE(book.take_of(4).has_value());
    EXPECT_FALSE(book.take_of(8).has_value());
    EXPECT_EQ(book.first_untold(), 2U);
    EXPECT_TRUE(book.is_remembered(4));
    EXPECT_EQ(book.take(6, 1)->message(), "2");
    EXPECT_EQ(book.take_of(2, 2)->message(), "2") << "only another thread got the failure";
    EXPECT_EQ(book.take_of(6)->message(), "6");
    EXPECT_EQ(book.first_untold(), 0U);
}

TEST(FailureBook, remembers_the_newest_failures_remembered_max) {
    FailureBook book;
    for (std::uint64_t i = 1; i <= failures_remembered_max + 1; ++i) {
        book.note(2 * i, base::Status::bare(Code::peer));
    }
    EXPECT_FALSE(book.is_remembered(2));
    EXPECT_TRUE(book.is_remembered(4));
    EXPECT_EQ(book.first_remembered(), 4U);
    EXPECT_EQ(book.first_untold(), 2U) << "an unreported failure is kept";
}

// Notes a failure of each even number from 2 * first to 2 * last, with its place and `bytes` dots
// as the message.
void note_many(FailureBook& book, std::uint64_t first, std::uint64_t last, std::size_t bytes) {
    for (std::uint64_t i = first; i <= last; ++i)
        book.note(2 * i, {Code::peer, std::to_string(i) + std::string(bytes, '.')});
}

// The number with which the message of merged failures begins; 0: it begins with none.
std::uint64_t number_in(const base::Status& failure, const std::string& before) {
    const std::string message(failure.message());
    return message.starts_with(before) ? std::strtoull(message.c_str() + before.size(), nullptr, 10)
                                       : 0;
}

TEST(FailureBook, does_not_grow_with_the_failures_of_a_program_that_asks_for_none) {
    const auto heap_bytes = [] { return mallinfo2().uordblks; };
    constexpr std::uint64_t count = 50'000;
    constexpr std::size_t message_bytes = 1000;
    FailureBook book;
    note_many(book, 1, failures_apart_max, message_bytes);
    const std::size_t before = heap_bytes();
    if (before == 0) GTEST_SKIP() << "this allocator does not report the bytes in use";
    note_many(book, failures_apart_max + 1, count, message_bytes);
    EXPECT_LE(heap_bytes(), before + message_bytes * failures_apart_max / 10);
    EXPECT_EQ(book.untold_count(), count);
}

TEST(FailureBook, reports_the_oldest_of_too_many_failures_as_one_with_their_number) {
    constexpr std::uint64_t count = 3 * failures_apart_max;
    FailureBook book;
    note_many(book, 1, count, 1);
    EXPECT_EQ(book.untold_count(), count);
    EXPECT_EQ(book.first_untold(), 2U);
    EXPECT_EQ(book.first_message(), "1.");
    const auto newest = book.take_of(2 * count);
    ASSERT_TRUE(newest.has_value());
    EXPECT_EQ(newest->message(), std::to_string(count) + ".") << "the newest keep their messages";
    const auto oldest = book.take(2 * count);
    ASSERT_TRUE(oldest.has_value());
    EXPECT_TRUE(oldest->message().ends_with(": 1.")) << "the first one's message";
    const std::uint64_t merged = number_in(*oldest, "");
    std::uint64_t apart = 1;
    while (book.take(2 * count)) ++apart;
    EXPECT_EQ(merged + apart, count) << "every failure is in a report";
    EXPECT_GE(apart, failures_remembered_max);
}

// A program that asks for each of its old handles, when their failures are merged already: each
// call reports a failure, and the number that is left decreases.
TEST(FailureBook, reports_merged_failures_to_a_call_for_each_of_their_handles) {
    FailureBook book;
    note_many(book, 1, failures_apart_max + 1, 1);
    constexpr std::uint64_t merged = failures_apart_max / 2;
    EXPECT_EQ(number_in(*book.take(2), ""), merged);
    for (std::uint64_t i = 2; i < merged; ++i) {
        const auto failure = book.take(2 * i);
        ASSERT_TRUE(failure.has_value()) << i;
        EXPECT_EQ(number_in(*failure, "up to "), merged - i + 1);
        EXPECT_EQ(book.untold_count(), failures_apart_max + 1 - i);
    }
    EXPECT_TRUE(book.take(2 * merged).has_value());
    EXPECT_EQ(book.take(2 * merged), std::nullopt);
    EXPECT_EQ(book.take(2 * merged + 2)->message(), std::to_string(merged + 1) + ".");
}

TEST(FailureBook, loses_no_failure_when_no_memory_is_left) {
    constexpr std::uint64_t count = 3 * failures_remembered_max;
    FailureBook book;
    {
        const Refusal refusal(1, all_from_there);
        for (std::uint64_t i = 1; i <= count; ++i) {
            book.note(2 * i, base::Status::bare(Code::peer));
        }
    }
    // Even without a record of each, take() of every failed number returns a failure.
    std::uint64_t told = 0;
    for (std::uint64_t i = 1; i <= count; ++i) {
        const auto failure = book.take(2 * i);
        ASSERT_TRUE(failure.has_value()) << "number " << 2 * i;
        EXPECT_EQ(failure->code(), Code::peer);
        ++told;
    }
    EXPECT_EQ(told, count);
    EXPECT_FALSE(book.take(2 * count).has_value()) << "a failure is returned once";
    EXPECT_EQ(book.first_untold(), 0U);
}

// One thread takes all failures without records; the other threads still get the failures of their
// own commands.
TEST(FailureBook, reports_to_each_thread_its_own_failure_after_a_joint_report) {
    FailureBook book;
    {
        const Refusal refusal(1, all_from_there);
        for (std::uint64_t i = 1; i <= 1000; ++i) book.note(4 * i, base::Status::bare(Code::peer));
    }
    while (book.take(4000, 1)) {
    }
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        EXPECT_FALSE(book.told_to_others(4 * i, 1).has_value()) << "the failure was reported";
        EXPECT_FALSE(book.told_to_others(4 * i - 2, 2).has_value()) << "that one did not fail";
        const auto failure = book.told_to_others(4 * i, 2);
        ASSERT_TRUE(failure.has_value()) << "number " << 4 * i;
        EXPECT_EQ(failure->code(), Code::peer);
        EXPECT_FALSE(book.told_to_others(4 * i, 2).has_value()) << "once";
    }
}

// A thread that waits for one command must not take the failure of another one.
TEST(FailureBook, of_failures_reported_together_assigns_none_to_a_successful_number) {
    FailureBook book;
    {
        const Refusal refusal(1, all_from_there);
        for (std::uint64_t i = 1; i <= 1000; ++i) book.note(4 * i, base::Status::bare(Code::peer));
    }
    const std::uint64_t before = book.first_untold();
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        EXPECT_FALSE(book.take_of(4 * i - 2).has_value()) << 4 * i - 2 << " did not fail";
    }
    EXPECT_EQ(book.first_untold(), before) << "and nothing was used up";
    EXPECT_TRUE(book.take_of(3000).has_value());
}

TEST(FailureBook, reports_failures_together_with_the_code_of_an_awaited_one) {
    FailureBook book;
    {
        const Refusal refusal(1, all_from_there);
        // Notes a later command first: a wrong address fails at once, commands issued earlier fail
        // later.
        for (std::uint64_t i = 1; i <= 100; ++i) book.note(2 * i, base::Status::bare(Code::peer));
        book.note(1000, base::Status::bare(Code::address));
        for (std::uint64_t i = 400; i < 499; ++i)
            book.note(2 * i, base::Status::bare(Code::memory));
    }
    while (book.take(200)) {
    }
    const auto early = book.take(900);
    ASSERT_TRUE(early.has_value());
    EXPECT_EQ(early->code(), Code::memory);
    const auto wrong = book.take(1000);
    ASSERT_TRUE(wrong.has_value());
    EXPECT_EQ(wrong->code(), Code::memory) << "902 is the lowest number that is not reported";
    EXPECT_EQ(book.told_to_others(1000, 2)->code(), Code::address);
    EXPECT_EQ(book.told_to_others(998, 3), std::nullopt);
    EXPECT_EQ(book.told_to_others(802, 3)->code(), Code::memory);
}

TEST(FailureBook, notes_the_failures_apart_again_when_there_is_memory_again) {
    FailureBook book;
    {
        const Refusal refusal(1, all_from_there);
        for (std::uint64_t i = 1; i <= 1000; ++i) book.note(2 * i, base::Status::bare(Code::peer));
    }
    while (book.take(2000)) {
    }
    book.note(3000, {Code::stale, "three thousand"});
    book.note(3002, {Code::address, "and two"});
    EXPECT_EQ(book.take(4000)->message(), "three thousand");
    EXPECT_EQ(book.take(4000)->message(), "and two");
}

}  // namespace
}  // namespace acp::gma
