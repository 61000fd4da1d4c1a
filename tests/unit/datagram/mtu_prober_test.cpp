// SPDX-License-Identifier: BSD-3-Clause
// The search for a path's longest datagram: longest first, three tries, then shorter ones, and
// again later; and the fallback when a path becomes shorter.
#include "datagram/mtu_prober.hpp"

#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

constexpr Time ms = 1'000'000;
constexpr Time s = 1'000'000'000;

PacketNumber number = 0;

void lose_three(MtuProber& prober, Time& now) {
    for (std::uint32_t i = 0; i < MtuProber::tries_max; ++i) {
        const std::uint32_t bytes = prober.wanted(now);
        ASSERT_NE(bytes, 0U) << "try " << i;
        prober.on_sent(bytes, ++number);
        prober.on_lost(now);
        now += 100 * ms;
    }
}

AckFrame ack_of(PacketNumber largest) {
    AckFrame ack;
    ack.largest = largest;
    return ack;
}

// WIRE-75
TEST(MtuProber, uses_the_least_length_until_a_longer_one_got_through) {
    MtuProber prober(1472, 8972);
    EXPECT_EQ(prober.current(), 1472U);
    EXPECT_EQ(prober.wanted(0), 8972U);
    prober.on_sent(8972, 5);
    EXPECT_EQ(prober.wanted(0), 0U) << "one probe at a time";
    EXPECT_EQ(prober.current(), 1472U);
    prober.on_acknowledged(8972);
    EXPECT_EQ(prober.current(), 8972U);
    EXPECT_EQ(prober.wanted(0), 0U);
}

TEST(MtuProber, probes_nothing_when_there_is_nothing_longer) {
    const MtuProber prober(1472, 1472);
    EXPECT_EQ(prober.wanted(0), 0U);
}

// WIRE-76
TEST(MtuProber, tries_a_length_three_times_then_a_shorter_one_then_waits) {
    MtuProber prober(1472, 8972);
    Time now = 5;
    lose_three(prober, now);
    EXPECT_EQ(prober.wanted(now), 4058U);
    lose_three(prober, now);
    EXPECT_EQ(prober.wanted(now), 0U);
    EXPECT_EQ(prober.current(), 1472U);
    EXPECT_EQ(prober.wanted(now + MtuProber::again_min_ns), 8972U);
}

// WIRE-76
TEST(MtuProber, comes_down_to_what_tunnels_and_small_frames_carry) {
    MtuProber prober(1200, 8972);
    Time now = 5;
    for (const std::uint32_t bytes : {8972U, 4058U, 1452U, 1372U}) {
        EXPECT_EQ(prober.wanted(now), bytes);
        lose_three(prober, now);
    }
    EXPECT_EQ(prober.wanted(now), 0U);
    EXPECT_EQ(prober.current(), 1200U);
    EXPECT_EQ(prober.wanted(now + MtuProber::again_min_ns), 8972U);
}

// WIRE-76
TEST(MtuProber, tries_nothing_longer_than_the_interface_carries) {
    MtuProber prober(1200, 1432);
    Time now = 5;
    EXPECT_EQ(prober.wanted(now), 1432U);
    lose_three(prober, now);
    EXPECT_EQ(prober.wanted(now), 1372U);
    prober.on_sent(1372, 99);
    prober.on_acknowledged(1372);
    EXPECT_EQ(prober.current(), 1372U);
    lose_three(prober, now);
    EXPECT_EQ(prober.wanted(now), 0U) << "no longer length is left to try";
}

// WIRE-76
TEST(MtuProber, keeps_tries_apart_so_that_one_burst_of_losses_does_not_take_all) {
    MtuProber prober(1472, 8972);
    prober.on_sent(8972, 5);
    prober.on_lost(s);
    EXPECT_EQ(prober.wanted(s + 10 * ms - 1), 0U);
    EXPECT_EQ(prober.wanted(s + 10 * ms), 8972U);
    prober.on_sent(8972, 9);
    prober.on_lost(2 * s);
    EXPECT_EQ(prober.wanted(2 * s + 100 * ms - 1), 0U);
    EXPECT_EQ(prober.wanted(2 * s + 100 * ms), 8972U);
}

// WIRE-76
TEST(MtuProber, searches_again_ever_more_rarely) {
    MtuProber prober(1472, 8972);
    Time now = 0;
    Time pause = MtuProber::again_min_ns;
    for (int i = 0; i < 15; ++i) {
        lose_three(prober, now);
        lose_three(prober, now);
        const Time last = now - 100 * ms;
        ASSERT_EQ(prober.wanted(last + pause - 1), 0U) << "search " << i;
        ASSERT_EQ(prober.wanted(last + pause), 8972U) << "search " << i;
        now = last + pause;
        pause = std::min(2 * pause, MtuProber::again_max_ns);
    }
}

// WIRE-76
TEST(MtuProber, counts_a_probe_that_was_only_late) {
    MtuProber prober(1472, 8972);
    prober.on_sent(8972, 5);
    prober.on_lost(s);
    prober.on_sent(8972, 9);
    prober.on_lost(2 * s);
    EXPECT_FALSE(prober.recognise(ack_of(8)));
    EXPECT_EQ(prober.current(), 1472U);
    EXPECT_TRUE(prober.recognise(ack_of(5)));
    EXPECT_EQ(prober.current(), 8972U);
    EXPECT_FALSE(prober.recognise(ack_of(9))) << "this acknowledgement answers no probe";
}

TEST(MtuProber, remembers_the_last_three_that_were_taken_for_lost) {
    MtuProber prober(1200, 8972);
    Time now = 5;
    lose_three(prober, now);
    const PacketNumber first = number + 1;
    lose_three(prober, now);
    for (const PacketNumber late : {first, first + 1, first + 2}) {
        MtuProber copy = prober;
        EXPECT_TRUE(copy.recognise(ack_of(late))) << late;
        EXPECT_EQ(copy.current(), 4058U);
    }
    EXPECT_FALSE(prober.recognise(ack_of(first - 1))) << "too long ago";
}

TEST(MtuProber, keeps_the_shorter_one_that_got_through_and_tries_the_longest_later) {
    MtuProber prober(1472, 8972);
    Time now = 5;
    lose_three(prober, now);
    prober.on_sent(4058, 77);
    prober.on_acknowledged(4058);
    EXPECT_EQ(prober.current(), 4058U);
    EXPECT_EQ(prober.wanted(now), 8972U);
    lose_three(prober, now);
    EXPECT_EQ(prober.wanted(now), 0U);
    EXPECT_EQ(prober.current(), 4058U);
}

// WIRE-77
TEST(MtuProber, falls_back_when_long_ones_are_lost_again_and_again) {
    MtuProber prober(1472, 8972);
    prober.on_sent(8972, 3);
    prober.on_acknowledged(8972);
    EXPECT_FALSE(prober.on_content_lost(10 * ms, 9 * ms, 4, 8972));
    EXPECT_FALSE(prober.on_content_lost(20 * ms, 19 * ms, 6, 8972));
    EXPECT_FALSE(prober.on_content_lost(30 * ms, 29 * ms, 8, 8972));
    prober.on_content_acknowledged(10, 8972);
    EXPECT_FALSE(prober.on_content_lost(40 * ms, 39 * ms, 12, 8972));
    EXPECT_FALSE(prober.on_content_lost(50 * ms, 49 * ms, 14, 8972));
    EXPECT_FALSE(prober.on_content_lost(60 * ms, 59 * ms, 16, 8972));
    EXPECT_TRUE(prober.on_content_lost(70 * ms, 69 * ms, 18, 8972));
    EXPECT_EQ(prober.current(), 1472U);
    EXPECT_EQ(prober.wanted(70 * ms), 0U);
    EXPECT_EQ(prober.wanted(70 * ms + MtuProber::again_cut_ns), 8972U);
}

// WIRE-77
TEST(MtuProber, takes_one_burst_of_losses_for_one) {
    MtuProber prober(1472, 8972);
    prober.on_sent(8972, 3);
    prober.on_acknowledged(8972);
    for (PacketNumber i = 0; i < 100; ++i) {
        EXPECT_FALSE(prober.on_content_lost(10 * ms + i, 9 * ms, 4 + i, 8972));
    }
    prober.on_content_acknowledged(500, 8972);
    for (PacketNumber i = 0; i < 10; ++i) {
        EXPECT_FALSE(prober.on_content_lost((20 + i) * ms, (20 + i) * ms - 1, 200 + i, 8972))
            << "a later one came";
    }
    EXPECT_EQ(prober.current(), 8972U);
}

// WIRE-76
TEST(MtuProber,
     steps_up_from_what_every_path_carries_to_what_tunnels_carry_and_then_to_the_longest) {
    MtuProber prober(548, 8972);
    EXPECT_TRUE(prober.is_unproven());
    EXPECT_EQ(prober.wanted(0), 1200U);
    prober.on_sent(1200, 5);
    prober.on_acknowledged(1200);
    EXPECT_FALSE(prober.is_unproven());
    EXPECT_EQ(prober.current(), 1200U);
    EXPECT_EQ(prober.wanted(0), 8972U);
}

// WIRE-76
TEST(MtuProber, goes_down_to_what_old_links_carry) {
    for (const std::uint32_t carried : {972U, 740U, 548U}) {
        MtuProber prober(548, 1472);
        Time now = 5;
        while (prober.wanted(now) > carried) lose_three(prober, now);
        if (carried != 548) {
            EXPECT_EQ(prober.wanted(now), carried);
            prober.on_sent(carried, ++number);
            prober.on_acknowledged(carried);
        }
        EXPECT_EQ(prober.current(), carried);
    }
}

// WIRE-77
TEST(MtuProber, falls_step_by_step_below_what_tunnels_carry) {
    MtuProber prober(548, 1472);
    prober.on_sent(1472, 1);
    prober.on_acknowledged(1472);
    Time now = 0;
    PacketNumber sent = 1;
    for (const std::uint32_t next : {1200U, 972U, 740U, 548U}) {
        const std::uint32_t before = prober.current();
        for (std::uint32_t i = 1; i < MtuProber::silent_losses; ++i) {
            now += 10 * ms;
            EXPECT_FALSE(prober.on_content_lost(now, now - ms, ++sent, before));
        }
        now += 10 * ms;
        EXPECT_TRUE(prober.on_content_lost(now, now - ms, ++sent, before));
        EXPECT_EQ(prober.current(), next);
    }
}

// WIRE-77
TEST(MtuProber, does_not_take_shorter_ones_that_arrive_for_a_sign_that_longer_ones_would) {
    MtuProber prober(548, 1472);
    prober.on_sent(1200, 1);
    prober.on_acknowledged(1200);
    PacketNumber sent = 1;
    bool has_fallen = false;
    for (Time now = 10 * ms; now <= 40 * ms; now += 10 * ms) {
        prober.on_content_acknowledged(++sent, 1000);
        has_fallen = prober.on_content_lost(now, now - ms, ++sent, 1200);
    }
    EXPECT_TRUE(has_fallen);
    EXPECT_EQ(prober.current(), 972U);
}

// WIRE-77
TEST(MtuProber, does_not_count_fragmented_ones) {
    MtuProber prober(1200, 8972);
    for (Time now = 1; now < 10; ++now) EXPECT_FALSE(prober.on_content_lost(now, now, now, 5000));
    EXPECT_EQ(prober.current(), 1200U);
}

TEST(MtuProber, never_falls_below_the_least) {
    MtuProber prober(1472, 8972);
    for (Time now = 1; now < 10; ++now) EXPECT_FALSE(prober.on_content_lost(now, now, now, 1472));
    EXPECT_EQ(prober.current(), 1472U);
}

}  // namespace
}  // namespace acp::datagram
