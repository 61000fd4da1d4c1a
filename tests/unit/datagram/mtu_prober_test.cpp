// SPDX-License-Identifier: BSD-3-Clause
// The search for a path's longest datagram: longest first, three tries, half, later again; and the way back.
#include "datagram/mtu_prober.hpp"

#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

void lose_three(MtuProber& prober, Time now) {
    for (std::uint32_t i = 0; i < MtuProber::tries_max; ++i) {
        const std::uint32_t bytes = prober.wanted(now);
        ASSERT_NE(bytes, 0U);
        prober.on_sent(bytes);
        prober.on_lost(now);
    }
}

// WIRE-75
TEST(MtuProber, uses_the_least_length_until_a_longer_one_got_through) {
    MtuProber prober(1472, 8972);
    EXPECT_EQ(prober.current(), 1472U);
    EXPECT_EQ(prober.wanted(0), 8972U);
    prober.on_sent(8972);
    EXPECT_EQ(prober.wanted(0), 0U) << "one probe at a time";
    EXPECT_EQ(prober.current(), 1472U);
    prober.on_acknowledged(8972);
    EXPECT_EQ(prober.current(), 8972U);
    EXPECT_EQ(prober.wanted(0), 0U);
    EXPECT_EQ(prober.deadline(), never);
}

TEST(MtuProber, probes_nothing_when_there_is_nothing_longer) {
    const MtuProber prober(1472, 1472);
    EXPECT_EQ(prober.wanted(0), 0U);
    EXPECT_EQ(prober.deadline(), never);
}

// WIRE-76
TEST(MtuProber, tries_a_length_three_times_then_a_shorter_one_then_waits) {
    MtuProber prober(1472, 8972);
    lose_three(prober, 5);
    EXPECT_EQ(prober.wanted(5), MtuProber::jumbo_half);
    lose_three(prober, 7);
    EXPECT_EQ(prober.wanted(7), 0U);
    EXPECT_EQ(prober.current(), 1472U);
    EXPECT_EQ(prober.deadline(), 7 + MtuProber::again_ns);
    EXPECT_EQ(prober.wanted(7 + MtuProber::again_ns), 8972U);
}

TEST(MtuProber, keeps_the_shorter_one_that_got_through_and_tries_the_longest_later) {
    MtuProber prober(1472, 8972);
    lose_three(prober, 5);
    prober.on_sent(MtuProber::jumbo_half);
    prober.on_acknowledged(MtuProber::jumbo_half);
    EXPECT_EQ(prober.current(), MtuProber::jumbo_half);
}

// WIRE-77
TEST(MtuProber, falls_back_after_three_silent_timeouts_of_long_datagrams) {
    MtuProber prober(1472, 8972);
    prober.on_sent(8972);
    prober.on_acknowledged(8972);
    EXPECT_FALSE(prober.on_long_timeout(1));
    EXPECT_FALSE(prober.on_long_timeout(2));
    prober.on_long_acknowledged();
    EXPECT_FALSE(prober.on_long_timeout(3));
    EXPECT_FALSE(prober.on_long_timeout(4));
    EXPECT_TRUE(prober.on_long_timeout(5));
    EXPECT_EQ(prober.current(), 1472U);
    EXPECT_EQ(prober.wanted(6), 0U);
    EXPECT_EQ(prober.wanted(5 + MtuProber::again_ns), 8972U);
}

TEST(MtuProber, never_falls_below_the_least) {
    MtuProber prober(1472, 8972);
    for (Time now = 0; now < 10; ++now) EXPECT_FALSE(prober.on_long_timeout(now));
    EXPECT_EQ(prober.current(), 1472U);
}

}  // namespace
}  // namespace acp::datagram
