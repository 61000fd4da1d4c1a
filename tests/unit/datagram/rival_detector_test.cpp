// SPDX-License-Identifier: BSD-3-Clause
// Others who fill the queue are found when giving way is of no use, and forgotten when it is. One thread.
#include "datagram/rival_detector.hpp"

#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

using Verdict = RivalDetector::Verdict;
constexpr Time us = 1'000;
constexpr Time ms = 1'000'000;

RivalDetector::Round round_at(Time now, Time rtt, double window, double rate = 1) {
    return {now, rtt, 100 * us, 450 * us, window, rate, false};
}

// Ten milliseconds long, the window halved each time, and the delay as before.
Time find(RivalDetector& rivals, Time now) {
    double window = 1e6;
    for (int i = 0; i < 20; ++i, window /= 2) {
        now += 10 * ms;
        if (rivals.on_round(round_at(now, 10 * ms, window)) == Verdict::found) break;
    }
    return now;
}

TEST(RivalDetector, finds_them_when_the_delay_stays_though_the_window_fell_to_an_eighth) {
    RivalDetector rivals;
    const Time now = find(rivals, 0);
    EXPECT_TRUE(rivals.is_found());
    EXPECT_LE(now, 60 * ms);
    EXPECT_EQ(rivals.resume_window(), 1e6) << "what was given away in vain";
}

TEST(RivalDetector, finds_nobody_where_the_delay_goes_with_the_window) {
    RivalDetector rivals;
    double window = 1e6;
    for (Time now = ms; now < 200 * ms; now += ms, window *= 0.8) {
        const Time rtt = 100 * us + static_cast<Time>(5e6 * window / 1e6);
        EXPECT_EQ(rivals.on_round(round_at(now, rtt, window)), Verdict::as_before);
    }
    EXPECT_FALSE(rivals.is_found());
}

TEST(RivalDetector, finds_nobody_where_the_delay_is_about_the_target) {
    RivalDetector rivals;
    for (Time now = ms; now < 2'000 * ms; now += ms) {
        const Time rtt = (now / ms) % 3 == 0 ? 600 * us : 440 * us;
        EXPECT_EQ(rivals.on_round(round_at(now, rtt, 1e5)), Verdict::as_before);
    }
}

TEST(RivalDetector, forgets_them_after_a_trial_that_takes_the_delay_away_and_not_the_rate) {
    RivalDetector rivals;
    Time now = find(rivals, 0);
    Verdict verdict = Verdict::as_before;
    for (; verdict != Verdict::trying; now += 10 * ms) {
        ASSERT_LT(now, 20'000 * ms);
        verdict = rivals.on_round(round_at(now, 10 * ms, 1e6));
    }
    EXPECT_FALSE(rivals.is_found()) << "delay counts again";
    EXPECT_EQ(rivals.on_round(round_at(now, 5 * ms, 5e5)), Verdict::as_before);
    EXPECT_EQ(rivals.on_round(round_at(now + ms, 400 * us, 1e5, 0.95)), Verdict::gone);
    EXPECT_FALSE(rivals.is_found());
}

TEST(RivalDetector, keeps_them_when_the_rate_goes_with_the_delay_and_tries_less_often) {
    RivalDetector rivals;
    Time now = find(rivals, 0);
    Time last = now;
    Time pause_before = 0;
    for (int trial = 0; trial < 3; ++trial) {
        while (rivals.on_round(round_at(now, 10 * ms, 1e6)) != Verdict::trying) now += 10 * ms;
        EXPECT_GE(now - last, pause_before);
        pause_before = now - last;
        EXPECT_EQ(rivals.on_round(round_at(now, 400 * us, 1e5, 0.4)), Verdict::found);
        EXPECT_EQ(rivals.resume_window(), 1e6);
        last = now;
    }
}

TEST(RivalDetector, takes_the_delay_for_the_paths_own_when_no_trial_ends_it_in_ten_seconds) {
    RivalDetector rivals;
    Time now = find(rivals, 0);
    for (; rivals.new_base_ns() == never; now += 10 * ms) {
        ASSERT_LT(now, 40'000 * ms);
        (void)rivals.on_round(round_at(now, 10 * ms, 1e5));
    }
    EXPECT_GE(now, 10'000 * ms);
    EXPECT_EQ(rivals.new_base_ns(), 10 * ms);
}

TEST(RivalDetector, forgets_them_when_there_is_no_queue_any_more) {
    RivalDetector rivals;
    const Time now = find(rivals, 0);
    for (std::uint32_t i = 1; i < RivalDetector::relieved_rounds; ++i) {
        EXPECT_EQ(rivals.on_round(round_at(now, 120 * us, 1e6)), Verdict::as_before);
    }
    EXPECT_EQ(rivals.on_round(round_at(now, 120 * us, 1e6)), Verdict::gone);
    EXPECT_FALSE(rivals.is_found());
}

}  // namespace
}  // namespace acp::datagram
