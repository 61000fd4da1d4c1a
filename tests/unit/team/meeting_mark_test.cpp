// SPDX-License-Identifier: BSD-3-Clause
// The word in which a process shows a collective call of all ranks, and whether another process
// keeps waiting when it reads that word.
#include "team/meeting_mark.hpp"

#include <gtest/gtest.h>

namespace acp::team {
namespace {

using node::AwaitedCall;

TEST(ShownMeetingTest, each_call_is_another_word_with_its_name) {
    const ShownMeeting first = ShownMeeting(0).next(AwaitedCall::sync, false);
    const ShownMeeting second = first.next(AwaitedCall::none, false).next(AwaitedCall::sync, false);
    EXPECT_EQ(ShownMeeting(0).call(), AwaitedCall::none);
    EXPECT_EQ(first.call(), AwaitedCall::sync);
    EXPECT_EQ(second.call(), AwaitedCall::sync);
    EXPECT_NE(first.word(), second.word());
    EXPECT_EQ(first.next(AwaitedCall::create_ws, true).call(), AwaitedCall::create_ws);
}

TEST(ShownMeetingTest, another_thread_of_either_process_may_make_the_call_but_not_after_the_epoch) {
    const ShownMeeting none(0);
    for (const bool shows_others : {false, true}) {
        for (const bool waits_with_others : {false, true}) {
            const auto keeps_waiting = [&](AwaitedCall call) {
                return none.next(call, shows_others).keeps_waiting(waits_with_others);
            };
            const bool is_any = shows_others || waits_with_others;
            EXPECT_EQ(keeps_waiting(AwaitedCall::sync), !is_any);
            EXPECT_EQ(keeps_waiting(AwaitedCall::register_all), !is_any);
            EXPECT_TRUE(keeps_waiting(AwaitedCall::finalize));
            EXPECT_TRUE(keeps_waiting(AwaitedCall::reset));
        }
    }
}

}  // namespace
}  // namespace acp::team
