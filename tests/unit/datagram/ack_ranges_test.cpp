// SPDX-License-Identifier: BSD-3-Clause
// The set of received packet numbers, as replay protection and as reported to the sender, compared
// with a set as a model. One thread.
#include "datagram/ack_ranges.hpp"

#include <gtest/gtest.h>
#include <set>

#include "base/random.hpp"

namespace acp::datagram {
namespace {

using Seen = AckRanges::Seen;

TEST(AckRanges, takes_each_packet_once) {
    AckRanges ranges;
    EXPECT_EQ(ranges.look(5), Seen::fresh);
    ranges.record(0, 5, true);
    EXPECT_EQ(ranges.look(5), Seen::duplicate);
    EXPECT_EQ(ranges.look(4), Seen::fresh);
    EXPECT_EQ(ranges.look(6), Seen::fresh);
}

TEST(AckRanges, remembers_to_the_edge_of_its_span_and_no_further) {
    AckRanges ranges;
    ranges.record(0, 10, true);
    // the last number of block 32: block 0 falls out
    const PacketNumber top = AckRanges::span + 63;
    ranges.record(0, AckRanges::span - 1, true);
    EXPECT_EQ(ranges.look(10), Seen::duplicate);
    EXPECT_EQ(ranges.look(11), Seen::fresh);
    ranges.record(0, top, true);
    EXPECT_EQ(ranges.look(10), Seen::too_old);
    EXPECT_EQ(ranges.look(63), Seen::too_old);
    EXPECT_EQ(ranges.look(64), Seen::fresh);
    EXPECT_EQ(ranges.look(AckRanges::span - 1), Seen::duplicate);
}

TEST(AckRanges, a_leap_forgets_all_before) {
    AckRanges ranges;
    for (PacketNumber number = 0; number < 200; ++number) ranges.record(0, number, true);
    const PacketNumber far = 1ULL << 60;
    ranges.record(0, far, true);
    for (PacketNumber back = 1; back < AckRanges::span - 64; ++back) {
        ASSERT_EQ(ranges.look(far - back), Seen::fresh) << back;
    }
    AckFrame ack;
    ranges.report(0, ack);
    EXPECT_EQ(ack.largest, far);
    EXPECT_EQ(ack.run, 0U);
    EXPECT_EQ(ack.count, 0);
}

TEST(AckRanges, reports_packets_without_a_hole_as_a_run_alone) {
    AckRanges ranges;
    for (PacketNumber number = 0; number < 1500; ++number) ranges.record(number, number, true);
    AckFrame ack;
    ranges.report(1700, ack);
    EXPECT_EQ(ack.largest, 1499U);
    EXPECT_EQ(ack.run, 1499U);
    EXPECT_EQ(ack.count, 0);
    EXPECT_EQ(ack.delay_ns, 201U);
    EXPECT_FALSE(ranges.is_disordered());
}

TEST(AckRanges, measures_the_delay_by_packets_that_want_an_answer) {
    AckRanges ranges;
    EXPECT_FALSE(ranges.has_any());
    ranges.record(50, 0, false);
    EXPECT_FALSE(ranges.has_any());
    ranges.record(100, 1, true);
    ranges.record(900, 2, false);
    ASSERT_TRUE(ranges.has_any());
    AckFrame ack;
    ranges.report(1000, ack);
    EXPECT_EQ(ack.largest, 1U);
    EXPECT_EQ(ack.run, 1U);  // the one before came as well
    EXPECT_EQ(ack.delay_ns, 900U);
}

TEST(AckRanges, notices_disorder_until_it_is_reported) {
    AckRanges ranges;
    AckFrame ack;
    for (PacketNumber number = 0; number < 3; ++number) ranges.record(0, number, true);
    EXPECT_FALSE(ranges.is_disordered());
    ranges.record(0, 4, true);
    EXPECT_TRUE(ranges.is_disordered());
    ranges.report(0, ack);
    EXPECT_FALSE(ranges.is_disordered());
    ranges.record(0, 5, true);
    EXPECT_FALSE(ranges.is_disordered());
    ranges.record(0, 3, true);  // into the hole
    EXPECT_TRUE(ranges.is_disordered());
}

TEST(AckRanges, asks_all_senders_at_the_same_time_to_let_the_path_run_empty) {
    AckRanges ranges;
    ranges.record(0, 0, true);
    AckFrame ack;
    const Time time = 7 * AckRanges::drain_every_ns;
    ranges.report(time - 1, ack);
    EXPECT_FALSE(ack.is_drain);
    ranges.report(time, ack);
    EXPECT_TRUE(ack.is_drain);
    ranges.report(time + AckRanges::drain_asked_ns, ack);
    EXPECT_FALSE(ack.is_drain);
}

// A sender gets a report of every packet within 1024 of the run's start, though seven of eight
// reports are lost.
TEST(AckRanges, reports_each_packet_in_eight_reports) {
    const std::uint64_t seed = 4711;
    base::Random random(seed);
    AckRanges ranges;
    std::set<PacketNumber> came;
    std::set<PacketNumber> heard;
    std::set<PacketNumber> late;
    unsigned reports = 0;
    for (PacketNumber number = 0; number < 20'000; ++number) {
        const std::uint64_t fate = random.below(100);
        if (fate < 3) continue;  // lost
        if (fate < 6) {
            late.insert(number);
            continue;
        }
        came.insert(number);
        ranges.record(number, number, true);
        if (!late.empty() && *late.begin() + 40 < number) {
            ranges.record(number, *late.begin(), true);
            came.insert(*late.begin());
            late.erase(late.begin());
        }
        if (number % 4 != 0) continue;
        AckFrame ack;
        ranges.report(number, ack);
        ++reports;
        for (PacketNumber k = number < 1200 ? 0 : number - 1200; k <= number; ++k) {
            if (!ack.contains(k)) continue;
            ASSERT_EQ(came.count(k), 1U) << "packet " << k << " never came, seed " << seed;
            if (reports % AckRanges::repeats == 0) heard.insert(k);
        }
    }
    for (const PacketNumber number : came) {
        if (number + 100 >= 20'000) continue;
        ASSERT_EQ(heard.count(number), 1U) << number << " seed " << seed;
    }
}

TEST(AckRanges, keeps_reports_short_when_holes_are_old) {
    AckRanges ranges;
    AckFrame ack;
    for (PacketNumber number = 0; number < 2000; ++number) {
        if (number % 100 == 50) continue;
        ranges.record(number, number, true);
        if (number % 16 == 0) ranges.report(number, ack);
    }
    EXPECT_LE(ack.count, 3) << "eight reports of 16 packets are two or three words";
}

}  // namespace
}  // namespace acp::datagram
