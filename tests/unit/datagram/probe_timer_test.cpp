// SPDX-License-Identifier: BSD-3-Clause
// When and how often to probe; and a path that loses half of its datagrams gets an answer soon. One
// thread.
#include "datagram/probe_timer.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace acp::datagram {
namespace {

constexpr Time us = 1000;
constexpr Time ms = 1'000'000;

RttEstimator path(Time rtt_ns) {
    RttEstimator rtt(rtt_ns);
    for (int i = 0; i < 100; ++i) rtt.sample(rtt_ns, 0, 0);
    return rtt;
}

TEST(ProbeTimer, waits_a_round_trip_and_what_may_delay_it) {
    const RttEstimator rtt = path(300 * us);
    ProbeTimer timer;
    EXPECT_EQ(timer.deadline(), never);
    timer.arm(5 * ms, rtt);
    EXPECT_EQ(timer.deadline(), 5 * ms + 300 * us + 1 * ms + 500 * us);
    timer.disarm();
    EXPECT_EQ(timer.deadline(), never);
}

TEST(ProbeTimer, doubles_from_the_third_timeout_on_and_ends_at_half_a_second) {
    const RttEstimator rtt = path(60 * ms);
    const Time single = 60 * ms + 1 * ms + 500 * us;
    ProbeTimer timer;
    Time now = 0;
    timer.arm(now, rtt);
    const Time expected[] = {single, single, 2 * single, 4 * single};
    for (const Time wait : expected) {
        EXPECT_EQ(timer.deadline() - now, wait);
        now = timer.deadline();
        EXPECT_GE(timer.expire(now, rtt), ProbeTimer::probes_min);
    }
    for (int i = 0; i < 100; ++i) {
        now = timer.deadline();
        EXPECT_EQ(timer.expire(now, rtt), i < 3 ? 6U + static_cast<unsigned>(i) : 8U);
    }
    EXPECT_EQ(timer.deadline() - now, ProbeTimer::timeout_max_ns);
}

// WIRE-51
TEST(ProbeTimer, probes_a_short_path_often_for_a_second_and_then_as_seldom_as_any) {
    const RttEstimator rtt = path(300 * us);
    ProbeTimer timer;
    Time now = 0;
    timer.arm(now, rtt);
    std::uint32_t timeouts = 0;
    for (; now < 1'000 * ms; ++timeouts) {
        EXPECT_LE(timer.deadline() - now, ProbeTimer::short_timeout_ns) << now;
        if (timeouts < ProbeTimer::soon_count) {
            EXPECT_LE(timer.deadline() - now, ProbeTimer::soon_timeout_ns) << now;
        }
        now = timer.deadline();
        EXPECT_LE(timer.expire(now, rtt), ProbeTimer::probes_max);
    }
    EXPECT_LE(timeouts, 50U);
    for (int i = 0; i < 10; ++i) {
        now = timer.deadline();
        (void)timer.expire(now, rtt);
    }
    EXPECT_EQ(timer.deadline() - now, ProbeTimer::timeout_max_ns);
}

TEST(ProbeTimer, a_long_path_is_never_probed_sooner_than_it_can_answer) {
    const RttEstimator rtt = path(2'000 * ms);
    ProbeTimer timer;
    for (int i = 0; i < 5; ++i) EXPECT_GE(timer.expire(0, rtt), 2U);
    EXPECT_GE(timer.timeout(rtt), 2'000 * ms);
}

// For example, the round trip was measured while the other side was stopped.
TEST(ProbeTimer, probes_three_times_before_a_silent_peer_is_given_up_however_long_the_path_seems) {
    const RttEstimator rtt = path(13'000 * ms);
    ProbeTimer timer(10'000 * ms);
    Time now = 0;
    timer.arm(now, rtt);
    for (int i = 0; i < 3; ++i) {
        now = timer.deadline();
        EXPECT_GE(timer.expire(now, rtt), 2U);
    }
    EXPECT_LT(now, 10'000 * ms);
}

TEST(ProbeTimer, the_third_timeout_in_a_row_is_persistent_and_an_answer_ends_the_row) {
    const RttEstimator rtt = path(1 * ms);
    ProbeTimer timer;
    EXPECT_EQ(timer.expire(0, rtt), 2U);
    EXPECT_EQ(timer.expire(0, rtt), 3U);
    EXPECT_FALSE(timer.is_persistent());
    EXPECT_EQ(timer.expire(0, rtt), 4U);
    EXPECT_TRUE(timer.is_persistent());
    EXPECT_EQ(timer.expire(0, rtt), 5U);
    EXPECT_FALSE(timer.is_persistent());
    timer.on_ack();
    EXPECT_EQ(timer.expire(0, rtt), 2U);
}

// Probes and their one acknowledgement are each lost with probability 1/2.
TEST(ProbeTimer, gets_an_answer_within_few_timeouts_though_half_is_lost) {
    const RttEstimator rtt = path(300 * us);
    base::Random random(5);
    constexpr int trials = 2000;
    Time sum = 0;
    for (int trial = 0; trial < trials; ++trial) {
        ProbeTimer timer;
        timer.arm(0, rtt);
        for (bool is_answered = false; !is_answered;) {
            const Time now = timer.deadline();
            const std::uint32_t probes = timer.expire(now, rtt);
            bool has_arrived = false;
            for (std::uint32_t i = 0; i < probes; ++i) has_arrived |= random.below(2) == 0;
            is_answered = has_arrived && random.below(2) == 0;
            if (is_answered) sum += now;
        }
    }
    EXPECT_LT(sum / trials, 30 * ms);
}

}  // namespace
}  // namespace acp::datagram
