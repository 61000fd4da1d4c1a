// SPDX-License-Identifier: BSD-3-Clause
// Two commands of one call in the queue: the order of their runs, their one failure, their room;
// and commands with loans, also commands that fail without having run.
#include <gtest/gtest.h>
#include <utility>
#include <vector>

#include "gma/command_queue.hpp"

namespace acp::gma::test {
namespace {

using base::Code;
using Numbers = std::vector<std::uint64_t>;

memory::Command command_of(std::uint64_t tag) {
    return {.bytes = tag};
}

// Two commands of one call.
class PairTest : public testing::Test {
protected:
    CommandQueue::Admission admit(Handle order) {
        EXPECT_TRUE(queue_.has_room());
        return queue_.admit(command_of(7), order);
    }

    // Completes a command. Returns the commands that it made ready.
    Numbers finish(std::uint64_t number, base::Status status = {}) {
        CommandList ready;
        queue_.finish(number, std::move(status), ready);
        Numbers numbers;
        while (!ready.is_empty()) numbers.push_back(queue_.take_first(ready));
        return numbers;
    }

    Numbers fail(std::uint64_t number) { return finish(number, {Code::peer, "a failure"}); }

    Code take(std::uint64_t number) {
        const auto failure = queue_.take_failure(number);
        return failure ? failure->code() : Code::ok;
    }

    std::uint64_t admit_pair(Handle order, std::uint32_t loan = 0) {
        EXPECT_TRUE(queue_.has_room_for_two());
        memory::Command first = command_of(1);
        first.expected = memory::Command::note(memory::IssuedBy::put_signal, loan);
        memory::Command second = command_of(2);
        second.operation = memory::Operation::add;
        const auto admission = queue_.admit_pair(first, second, order);
        is_first_ready_ = admission.is_ready;
        return admission.number;
    }

    Marks marks_;
    CommandQueue queue_{marks_};
    bool is_first_ready_ = false;
};

TEST_F(PairTest, runs_its_second_after_its_first_and_after_nothing_else) {
    admit(handle_null);
    EXPECT_EQ(admit_pair(handle_null), 6U);
    EXPECT_TRUE(is_first_ready_);
    admit(handle_null);
    EXPECT_FALSE(queue_.is_ready(6));
    EXPECT_EQ(finish(4), Numbers{6});
    EXPECT_EQ(queue_.done(), 0U);
    EXPECT_EQ(finish(6), Numbers{});
    EXPECT_EQ(finish(2), Numbers{});
    EXPECT_EQ(queue_.done(), 6U);
}

TEST_F(PairTest, reports_one_failure) {
    const std::uint64_t pair = admit_pair(handle_null);
    const std::uint64_t behind = admit(pair).number;
    EXPECT_EQ(fail(pair - 2), Numbers{});
    EXPECT_EQ(queue_.outstanding(), 0U);
    const auto told = queue_.take_failure(pair);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->code(), Code::peer);
    EXPECT_EQ(take(pair), Code::ok) << "the pair's only failure was already returned";
    EXPECT_EQ(take(behind), Code::order);
    EXPECT_FALSE(queue_.is_satisfied(pair)) << "its handle is that of a failed command";
}

TEST_F(PairTest, fails_as_one_where_its_order_has_failed) {
    const std::uint64_t bad = queue_.admit_failed({Code::peer, "a failure"});
    const std::uint64_t pair = admit_pair(bad, 9);
    EXPECT_EQ(queue_.outstanding(), 0U);
    EXPECT_EQ(take(bad), Code::peer);
    EXPECT_EQ(take(pair), Code::order);
    EXPECT_EQ(take(handle_all), Code::ok);
    EXPECT_TRUE(queue_.loans().has_lapsed());
    EXPECT_EQ(queue_.loans().take_lapsed()[0], 1U << 9U);
}

TEST_F(PairTest, fails_as_one_where_its_order_fails_later) {
    const std::uint64_t first = admit(handle_null).number;
    const std::uint64_t pair = admit_pair(first, 200);
    EXPECT_FALSE(is_first_ready_);
    fail(first);
    EXPECT_EQ(queue_.outstanding(), 0U);
    EXPECT_EQ(take(first), Code::peer);
    EXPECT_EQ(take(pair), Code::order);
    EXPECT_EQ(take(handle_all), Code::ok);
    EXPECT_EQ(queue_.loans().take_lapsed()[3], 1ULL << (200 - 192));
    EXPECT_FALSE(queue_.loans().has_lapsed());
}

TEST_F(PairTest, reports_only_the_failure_of_its_second_command) {
    const std::uint64_t pair = admit_pair(handle_null);
    EXPECT_EQ(finish(pair - 2), Numbers{pair});
    fail(pair);
    EXPECT_EQ(take(handle_all), Code::peer);
    EXPECT_EQ(take(handle_all), Code::ok);
}

TEST_F(PairTest, has_no_room_where_there_is_room_for_one) {
    for (std::uint64_t i = 1; i < commands_outstanding_max; ++i) admit(handle_null);
    EXPECT_TRUE(queue_.has_room());
    EXPECT_FALSE(queue_.has_room_for_two());
    finish(2);
    EXPECT_TRUE(queue_.has_room_for_two());
    EXPECT_EQ(admit_pair(handle_null), 2 * (commands_outstanding_max + 1));
    EXPECT_FALSE(queue_.has_room());
}

TEST_F(PairTest, does_not_end_a_command_with_a_loan_by_the_short_ways) {
    memory::Command lent = command_of(1);
    lent.expected = memory::Command::note(memory::IssuedBy::get, 1);
    ASSERT_TRUE(queue_.has_room());
    EXPECT_EQ(queue_.admit_ready(lent), 2U);
    EXPECT_EQ(queue_.loans().lent(), 1U);
    EXPECT_FALSE(queue_.finish_last(2));
    EXPECT_FALSE(queue_.finish_oldest(2, 1));
    finish(2);
    EXPECT_EQ(queue_.loans().lent(), 0U);
    admit(handle_null);
    EXPECT_TRUE(queue_.finish_last(4));
}

}  // namespace
}  // namespace acp::gma::test
