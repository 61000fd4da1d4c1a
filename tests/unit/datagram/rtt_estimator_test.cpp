// SPDX-License-Identifier: BSD-3-Clause
// Averages and least of the round trip. One thread.
#include "datagram/rtt_estimator.hpp"

#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

constexpr Time ms = 1'000'000;
constexpr Time s = 1'000'000'000;

TEST(RttEstimator, begins_with_its_first_sample) {
    const RttEstimator rtt(10 * ms);
    EXPECT_FALSE(rtt.has_sample());
    EXPECT_EQ(rtt.smoothed(), 10 * ms);
    EXPECT_EQ(rtt.variation(), 5 * ms);
}

TEST(RttEstimator, the_first_sample_replaces_that_and_others_are_averaged) {
    RttEstimator rtt(10 * ms);
    rtt.sample(100 * ms, 99 * ms, 0);
    EXPECT_EQ(rtt.smoothed(), 1 * ms);
    EXPECT_EQ(rtt.variation(), ms / 2);
    rtt.sample(200 * ms, 191 * ms, 0);  // 9 ms
    EXPECT_EQ(rtt.smoothed(), 2 * ms);
    EXPECT_EQ(rtt.variation(), (3 * ms / 2 + 8 * ms) / 4);
}

TEST(RttEstimator, takes_off_the_delay_unless_it_is_impossible) {
    RttEstimator rtt(10 * ms);
    rtt.sample(100 * ms, 98 * ms, ms / 2);
    EXPECT_EQ(rtt.latest(), 2 * ms - ms / 2);
    rtt.sample(200 * ms, 198 * ms, 2 * ms);
    EXPECT_EQ(rtt.latest(), 2 * ms);
    rtt.sample(1000 * ms, 800 * ms, 150 * ms);  // more than a peer may claim
    EXPECT_EQ(rtt.latest(), 150 * ms);
}

TEST(RttEstimator, the_least_is_that_of_the_last_ten_seconds) {
    RttEstimator rtt(10 * ms);
    rtt.sample(1 * s, 1 * s - 1 * ms, 0);
    for (Time now = 2 * s; now < 10 * s; now += s / 10) rtt.sample(now, now - 3 * ms, 0);
    EXPECT_EQ(rtt.least(), 1 * ms);
    EXPECT_EQ(rtt.least_seen_at(), 1 * s);
    for (Time now = 10 * s; now < 12 * s; now += s / 10) rtt.sample(now, now - 3 * ms, 0);
    EXPECT_EQ(rtt.least(), 3 * ms);
    rtt.sample(100 * s, 100 * s - 20 * ms, 0);
    EXPECT_EQ(rtt.least(), 20 * ms);
}

}  // namespace
}  // namespace acp::datagram
