// SPDX-License-Identifier: BSD-3-Clause
// Bursts and gaps. One thread.
#include "datagram/pacer.hpp"

#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

constexpr Time us = 1000;

// WIRE-59
TEST(Pacer, a_burst_is_at_most_one_hand_over_and_a_quarter_of_the_window_or_16_datagrams) {
    Pacer pacer;
    pacer.set_rate(10'000'000, 1'000 * us, false);
    EXPECT_EQ(pacer.burst_bytes(1472), 44U * 1472);
    EXPECT_EQ(pacer.burst_bytes(8972), 7U * 8972);
    EXPECT_EQ(pacer.burst_bytes(65507), 65507U);
    pacer.set_rate(40 * 1472, 1'000 * us, false);
    EXPECT_EQ(pacer.burst_bytes(1472), 16U * 1472);
    pacer.set_rate(5 * 1472, 1'000 * us, false);
    EXPECT_EQ(pacer.burst_bytes(1472), 5U * 1472);
    pacer.set_rate(100, 1'000 * us, false);
    EXPECT_EQ(pacer.burst_bytes(1472), 1472U) << "less than a datagram cannot be sent";
}

TEST(Pacer, gaps_let_a_window_leave_in_four_fifths_of_a_round_trip) {
    Pacer pacer;
    pacer.set_rate(100'000, 1'000 * us, false);
    EXPECT_TRUE(pacer.may_send(10'000 * us));
    pacer.on_sent(10'000 * us, 50'000);
    Time now = 10'000 * us;
    std::uint64_t sent = 0;
    for (; now < 110'000 * us; now = std::max(now, pacer.deadline())) {
        pacer.on_sent(now, 50'000);
        sent += 50'000;
    }
    EXPECT_NEAR(static_cast<double>(sent), 100 * 125'000, 2 * 125'000);
}

TEST(Pacer, slow_start_is_paced_at_twice_the_window) {
    Pacer pacer;
    pacer.set_rate(100'000, 1'000 * us, true);
    Time now = 0;
    for (int i = 0; i < 100; ++i) {
        now = std::max(now, pacer.deadline());
        pacer.on_sent(now, 20'000);
    }
    EXPECT_NEAR(static_cast<double>(now), 100 * 100.0 * us, 1'000.0 * us);
}

TEST(Pacer, many_probes_keep_nothing_back_for_longer_than_a_window_does) {
    Pacer pacer;
    pacer.set_rate(10'000, 1'000 * us, false);
    for (int i = 0; i < 1000; ++i) pacer.on_sent(5'000 * us, 4'000);
    EXPECT_EQ(pacer.deadline(), 5'800 * us);
    // The window of a node that was stopped for a minute.
    pacer.set_rate(10'000, 60'000'000 * us, false);
    for (int i = 0; i < 1000; ++i) pacer.on_sent(6'000 * us, 4'000);
    EXPECT_EQ(pacer.deadline(), 6'000 * us + 800'000 * us);
    pacer.set_rate(100, 1'000 * us, false);
    pacer.on_sent(806'000 * us, 4'000);
    EXPECT_EQ(pacer.deadline(), 838'000 * us) << "the gap of one datagram stays";
}

TEST(Pacer, a_late_sender_makes_up_for_at_most_half_a_round_trip) {
    Pacer pacer;
    pacer.set_rate(100'000, 1'000 * us, false);  // 125 bytes per microsecond
    pacer.on_sent(1'000 * us, 12'500);
    const Time late = 50'000 * us;
    std::uint64_t at_once = 0;
    while (pacer.may_send(late)) {
        pacer.on_sent(late, 12'500);
        at_once += 12'500;
    }
    EXPECT_LE(at_once, 125U * 500 + 12'500);
    EXPECT_GE(at_once, 125U * 500);
}

TEST(Pacer, a_window_of_a_part_of_a_datagram_sends_one_in_several_round_trips) {
    Pacer pacer;
    pacer.set_rate(1472 / 8, 1'000 * us, false);
    const Time now = 1'000'000 * us;
    pacer.on_sent(now, 1472);
    EXPECT_GE(pacer.deadline(), now + 5'000 * us);
    EXPECT_LE(pacer.deadline(), now + 8'000 * us);
}

// WIRE-68
TEST(Pacer, halves_bursts_whose_datagrams_are_lost_side_by_side_once_per_round_trip) {
    Pacer pacer;
    pacer.set_rate(10'000'000, 1'000 * us, false);
    Time now = 1'000 * us;
    pacer.on_settled(now, 10, 3, 3, now - 500 * us);
    EXPECT_EQ(pacer.burst_limit(), 32U);
    pacer.on_settled(now + 1, 10, 3, 3, now - 400 * us);
    EXPECT_EQ(pacer.burst_limit(), 32U) << "it left before bursts were halved";
    for (int i = 0; i < 10; ++i) {
        now += 1'000 * us;
        pacer.on_settled(now, 10, 1, 1, now);
    }
    EXPECT_EQ(pacer.burst_limit(), Pacer::burst_limit_min);
    EXPECT_EQ(pacer.burst_bytes(1472), 2U * 1472);
    pacer.on_settled(now, Pacer::limit_doubles_after - 1, 0, 0, 0);
    EXPECT_EQ(pacer.burst_limit(), 2U);
    pacer.on_settled(now, 1, 0, 0, 0);
    EXPECT_EQ(pacer.burst_limit(), 4U);
}

TEST(Pacer, a_sender_without_long_bursts_sends_no_several_at_once) {
    Pacer pacer;
    pacer.set_rate(100'000, 1'000 * us, false);
    Time now = 1'000 * us;
    for (int i = 0; i < 5; ++i, now += 1'000 * us) pacer.on_settled(now, 0, 1, 1, now);
    const Time late = now + 50'000 * us;
    pacer.on_sent(late, 2 * 1472);
    EXPECT_FALSE(pacer.may_send(late));
}

TEST(Pacer, halves_bursts_of_which_one_is_lost_again_and_again) {
    Pacer pacer;
    Time now = 1'000 * us;
    for (int i = 0; i < 6; ++i, now += 1'000 * us) pacer.on_settled(now, 31, 1, 0, now);
    EXPECT_EQ(pacer.burst_limit(), Pacer::burst_limit_max) << "3 % may be chance";
    for (int i = 0; i < 60; ++i, now += 1'000 * us) pacer.on_settled(now, 5, 1, 0, now);
    EXPECT_LE(pacer.burst_limit(), 4U);
}

}  // namespace
}  // namespace acp::datagram
