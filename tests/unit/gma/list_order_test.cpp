// SPDX-License-Identifier: BSD-3-Clause
// The commands of a call that issues several: the order they all have, and what follows exactly the last of them.
#include <gtest/gtest.h>
#include <utility>

#include "gma/command_queue.hpp"

namespace acp::gma::test {
namespace {

class ListOrderTest : public testing::Test {
protected:
    std::uint64_t admit(Handle order) {
        EXPECT_TRUE(queue_.has_room());
        return queue_.admit({.bytes = 8}, order).number;
    }

    void finish(std::uint64_t number, base::Status status = {}) {
        CommandList ready;
        queue_.finish(number, std::move(status), ready);
    }

    Marks marks_;
    CommandQueue queue_{marks_};
};

TEST_F(ListOrderTest, an_order_stays_what_it_was_when_the_list_began) {
    EXPECT_EQ(queue_.fixed(handle_all), handle_null);
    const std::uint64_t first = admit(handle_null);
    const std::uint64_t second = admit(handle_null);
    EXPECT_EQ(queue_.fixed(handle_null), handle_null);
    EXPECT_EQ(queue_.fixed(handle_all), second);
    EXPECT_EQ(queue_.fixed(handle_cont), second);
    EXPECT_EQ(queue_.fixed(first), first);
    finish(first);
    EXPECT_EQ(queue_.fixed(first), handle_null);
}

TEST_F(ListOrderTest, what_follows_exactly_a_list_waits_for_all_of_it) {
    const std::uint64_t first = admit(handle_null);
    const std::uint64_t last = admit(handle_null);
    queue_.end_list(0);
    const std::uint64_t behind = admit(handle_cont);
    finish(last);
    EXPECT_FALSE(queue_.is_ready(behind));
    finish(first);
    EXPECT_TRUE(queue_.is_ready(behind));
}

TEST_F(ListOrderTest, what_comes_behind_that_follows_one_command_again) {
    const std::uint64_t first = admit(handle_null);
    queue_.end_list(0);
    const std::uint64_t single = admit(handle_null);
    const std::uint64_t behind = admit(handle_cont);
    finish(single);
    EXPECT_TRUE(queue_.is_ready(behind));
    finish(first);
}

TEST_F(ListOrderTest, a_list_that_queued_nothing_is_none) {
    const std::uint64_t failed = queue_.admit_failed({base::Code::address, "a failure"});
    ASSERT_TRUE(queue_.take_failure_of(failed));
    queue_.end_list(failed);
    EXPECT_TRUE(queue_.is_satisfied(handle_cont));
}

TEST_F(ListOrderTest, a_failure_of_a_list_that_was_told_stops_nothing_behind_it) {
    const std::uint64_t failed = queue_.admit_failed({base::Code::address, "a failure"});
    queue_.end_list(0);
    EXPECT_TRUE(queue_.is_failed(handle_cont));
    ASSERT_TRUE(queue_.take_failure_of(failed));
    EXPECT_FALSE(queue_.is_failed(handle_cont));
    EXPECT_TRUE(queue_.is_satisfied(handle_cont));
}

TEST_F(ListOrderTest, what_follows_exactly_a_list_fails_with_any_of_it) {
    const std::uint64_t first = admit(handle_null);
    admit(handle_null);
    queue_.end_list(0);
    EXPECT_FALSE(queue_.is_failed(handle_cont));
    finish(first, {base::Code::address, "a failure"});
    EXPECT_TRUE(queue_.is_failed(handle_cont));
    const std::uint64_t behind = admit(handle_cont);
    const auto told = queue_.take_failure_of(behind);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->code(), base::Code::order);
}

}  // namespace
}  // namespace acp::gma::test
