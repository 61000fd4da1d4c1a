// SPDX-License-Identifier: BSD-3-Clause
// The word in which a process shows a collective call of all ranks, and whether another process
// keeps waiting when it reads that word.
#include "team/meeting_mark.hpp"

#include <gtest/gtest.h>

namespace acp::team {
namespace {

TEST(ShownMeetingTest, each_call_is_another_word) {
    const ShownMeeting first = ShownMeeting(0).enter(false, false);
    const ShownMeeting left = first.leave();
    const ShownMeeting second = left.enter(false, false);
    EXPECT_FALSE(ShownMeeting(0).is_in_call());
    EXPECT_TRUE(first.is_in_call());
    EXPECT_FALSE(left.is_in_call());
    EXPECT_TRUE(second.is_in_call());
    EXPECT_NE(first.word(), second.word());
}

TEST(ShownMeetingTest, another_thread_of_either_process_may_make_the_call_but_not_after_the_epoch) {
    for (const bool shows_others : {false, true}) {
        for (const bool waits_with_others : {false, true}) {
            const bool is_any = shows_others || waits_with_others;
            EXPECT_EQ(ShownMeeting(0).enter(false, shows_others).keeps_waiting(waits_with_others),
                      !is_any);
            EXPECT_TRUE(ShownMeeting(0).enter(true, shows_others).keeps_waiting(waits_with_others));
        }
    }
}

TEST(MeetingMarkTest, a_place_shows_the_call_while_the_mark_lives) {
    BoardMeeting place;
    {
        const node::PublicCall call("acp_sync");
        const MeetingMark mark(&place, false, false);
        EXPECT_TRUE(ShownMeeting(place.word.load()).is_in_call());
        EXPECT_EQ(place.call.load(), "acp_sync");
    }
    EXPECT_FALSE(ShownMeeting(place.word.load()).is_in_call());
}

}  // namespace
}  // namespace acp::team
