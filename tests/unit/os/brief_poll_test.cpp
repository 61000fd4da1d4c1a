// SPDX-License-Identifier: BSD-3-Clause
// A brief poll ends with success at the poll that finds its condition, and without it by itself.
#include "os/brief_poll.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace acp::os
