// SPDX-License-Identifier: BSD-3-Clause
// A brief poll ends with success at the poll that finds its condition, and without it by itself.
#include "os/brief_poll.hpp"

#include <gtest/gtest.h>

#include "os/adaptive_poll.hpp"

namespace acp::os {
namespace {

TEST(BriefPoll, ends_at_the_poll_that_finds_its_condition) {
    for (const int found_at : {1, 2, 200, 201, 260}) {
        int polls = 0;
        // A machine that is busy may take all of the time for few polls; the first 201 come always.
        const bool is_found = poll_briefly([&] { return ++polls == found_at; });
        if (found_at <= 201) {
            EXPECT_TRUE(is_found);
            EXPECT_EQ(polls, found_at);
        }
    }
}

TEST(BriefPoll, gives_up_after_its_time) {
    const std::uint64_t start = now_ns();
    EXPECT_FALSE(poll_briefly([] { return false; }));
    EXPECT_GE(now_ns() - start, brief_poll_ns);
}

TEST(AdaptivePoll, becomes_shorter_where_polls_fail_and_longer_where_they_succeed) {
    AdaptivePoll poll;
    EXPECT_EQ(poll.limit_ns(), brief_poll_ns);
    for (int i = 0; i < 10; ++i) {
        const std::uint64_t limit = poll.limit_ns();
        const std::uint64_t start = now_ns();
        EXPECT_FALSE(poll.poll([] { return false; }));
        EXPECT_GE(now_ns() - start, limit);
        EXPECT_LE(poll.limit_ns(), limit);
    }
    EXPECT_EQ(poll.limit_ns(), AdaptivePoll::least_ns);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(poll.poll([] { return true; }));
    EXPECT_EQ(poll.limit_ns(), brief_poll_ns);
}

TEST(AdaptivePoll, tries_the_whole_time_now_and_then) {
    AdaptivePoll poll;
    std::uint64_t longest = 0;
    for (std::uint32_t i = 0; i < 2 * AdaptivePoll::polls_per_trial; ++i) {
        const std::uint64_t start = now_ns();
        EXPECT_FALSE(poll.poll([] { return false; }));
        if (i > AdaptivePoll::polls_per_trial) longest = std::max(longest, now_ns() - start);
    }
    EXPECT_GE(longest, brief_poll_ns);
}

}  // namespace
}  // namespace acp::os
