// SPDX-License-Identifier: BSD-3-Clause
// What a process shows of a call in which all ranks meet, and what others make of it.
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

TEST(ShownMeetingTest, another_thread_may_make_calls_on_teams_beside_it_but_not_after_the_epoch) {
    const ShownMeeting none(0);
    EXPECT_TRUE(none.next(AwaitedCall::sync, false).is_alone());
    EXPECT_FALSE(none.next(AwaitedCall::sync, true).is_alone());
    for (const AwaitedCall call : {AwaitedCall::finalize, AwaitedCall::reset}) {
        EXPECT_TRUE(none.next(call, true).is_alone());
        EXPECT_TRUE(none.next(call, true).ends_teams());
    }
    EXPECT_FALSE(none.next(AwaitedCall::register_all, false).ends_teams());
}

}  // namespace
}  // namespace acp::team
