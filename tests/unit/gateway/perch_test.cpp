// SPDX-License-Identifier: BSD-3-Clause
// A gateway that is busy among other gateways stays on its core; each late poll frees it from the
// core for a longer time.
#include "gateway/perch.hpp"

#include <gtest/gtest.h>

namespace acp::gateway {
namespace {

using datagram::Time;

class PerchTest : public testing::Test {
protected:
    // Polls every microsecond for a time; returns whether it stays after the last poll.
    bool poll_for(Time duration) {
        bool stays = false;
        for (const Time end = now_ + duration; now_ < end;) stays = perch_.stays(now_ += 1'000);
        return stays;
    }

    // One late poll; returns whether it still stays.
    bool turn_late() { return perch_.stays(now_ += Perch::late_ns); }

    // The time until it stays again.
    Time time_free() {
        const Time from = now_;
        while (!perch_.stays(now_ += 10'000)) {
        }
        return now_ - from;
    }

    Time now_ = 1'000'000'000;
    Perch perch_{true};
};

TEST_F(PerchTest, the_only_gateway_of_a_machine_goes_where_it_likes) {
    perch_ = Perch(false);
    EXPECT_FALSE(poll_for(10 * Perch::busy_ns));
}

TEST_F(PerchTest, stays_when_it_has_been_busy_and_no_sooner) {
    EXPECT_FALSE(poll_for(Perch::busy_ns / 2));
    EXPECT_TRUE(poll_for(Perch::busy_ns));
}

TEST_F(PerchTest, a_gateway_that_sleeps_now_and_then_is_not_busy) {
    for (int i = 0; i < 20; ++i) {
        EXPECT_FALSE(poll_for(Perch::busy_ns / 2));
        perch_.note_sleep();
        now_ += 10 * Perch::late_ns;
    }
}

TEST_F(PerchTest, a_sleep_is_no_late_turn) {
    ASSERT_TRUE(poll_for(2 * Perch::busy_ns));
    perch_.note_sleep();
    EXPECT_TRUE(turn_late());
}

TEST_F(PerchTest, a_late_turn_sets_it_free_for_ever_longer) {
    ASSERT_TRUE(poll_for(2 * Perch::busy_ns));
    for (const Time expected :
         {Perch::free_min_ns, 2 * Perch::free_min_ns, 4 * Perch::free_min_ns}) {
        EXPECT_FALSE(turn_late());
        EXPECT_NEAR(static_cast<double>(time_free()), static_cast<double>(expected), 20'000);
    }
}

TEST_F(PerchTest, it_is_never_free_for_longer_than_the_bound) {
    ASSERT_TRUE(poll_for(2 * Perch::busy_ns));
    for (int i = 0; i < 12; ++i) {
        EXPECT_FALSE(turn_late());
        EXPECT_LE(time_free(), Perch::free_max_ns + 20'000);
    }
}

TEST_F(PerchTest, late_polls_while_it_is_free_keep_it_free) {
    ASSERT_TRUE(poll_for(2 * Perch::busy_ns));
    for (int i = 0; i < 10; ++i) {
        EXPECT_FALSE(turn_late());
        EXPECT_FALSE(poll_for(Perch::free_min_ns - 10'000));
    }
}

TEST_F(PerchTest, after_a_long_stay_one_late_turn_counts_little) {
    ASSERT_TRUE(poll_for(2 * Perch::busy_ns));
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(turn_late());
        time_free();
    }
    ASSERT_TRUE(poll_for(Perch::long_stay_ns));
    EXPECT_FALSE(turn_late());
    EXPECT_NEAR(static_cast<double>(time_free()), static_cast<double>(Perch::free_min_ns), 20'000);
}

}  // namespace
}  // namespace acp::gateway
