// SPDX-License-Identifier: BSD-3-Clause
// Which packets are declared lost, when, and what the detector learns from spurious losses. One
// thread.
#include "datagram/loss_detector.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace acp::datagram {
namespace {

constexpr Time us = 1000;

AckFrame ack_of(PacketNumber first, PacketNumber last) {
    AckFrame ack;
    ack.largest = last;
    ack.run = static_cast<std::uint32_t>(last - first);
    return ack;
}

class LossDetectorTest : public testing::Test {
protected:
    LossDetectorTest() { rtt_.sample(1'000 * us, 0, 0); }  // a round trip of 1 ms

    // Sends packets first..last, one each microsecond from `from` on.
    void send(PacketNumber first, PacketNumber last, Time from) {
        for (PacketNumber number = first; number <= last; ++number) {
            sent_.add(number, SentDatagram{.sent = from + (number - first) * us, .bytes = 1000});
        }
    }

    SettledPackets acknowledge(Time now, const AckFrame& ack) {
        SettledPackets settled = detector_.on_ack(sent_, ack, [](auto, const auto&) {});
        detect(now, settled);
        return settled;
    }

    void detect(Time now, SettledPackets& settled) {
        detector_.detect(sent_, now, rtt_, settled,
                         [&](PacketNumber number, const auto&) { lost_.push_back(number); });
    }

    SentPool pool_{64};
    SentDatagrams sent_{pool_};
    RttEstimator rtt_{1'000 * us};
    LossDetector detector_;
    std::vector<PacketNumber> lost_;
};

TEST_F(LossDetectorTest, three_later_packets_acknowledged_make_one_lost) {
    send(0, 9, 0);
    acknowledge(10 * us, ack_of(1, 2));
    EXPECT_TRUE(lost_.empty());
    const SettledPackets settled = acknowledge(11 * us, ack_of(1, 3));
    EXPECT_EQ(lost_, (std::vector<PacketNumber>{0}));
    EXPECT_EQ(settled.lost, 1U);
    EXPECT_EQ(settled.lost_bytes, 1000U);
    EXPECT_EQ(settled.acked, 1U);
    EXPECT_EQ(settled.largest_sent, 3 * us);
}

// WIRE-68
TEST_F(LossDetectorTest, counts_adjacent_losses_of_one_burst) {
    for (PacketNumber number = 0; number < 20; ++number) {
        sent_.add(number, SentDatagram{.sent = number < 10 ? 0 : 5 * us, .bytes = 1000});
    }
    AckFrame ack = ack_of(11, 19);
    const SettledPackets settled = acknowledge(30 * us, ack);
    EXPECT_EQ(settled.lost, 11U);
    EXPECT_EQ(settled.lost_together, 9U) << "the last was of another burst";
}

TEST_F(LossDetectorTest, an_overtaken_packet_is_lost_after_nine_eighths_of_a_round_trip) {
    send(0, 1, 0);
    acknowledge(1'000 * us, ack_of(1, 1));
    EXPECT_TRUE(lost_.empty());
    EXPECT_EQ(detector_.deadline(), 1'125 * us);
    SettledPackets settled;
    detect(1'124 * us, settled);
    EXPECT_TRUE(lost_.empty());
    detect(1'125 * us, settled);
    EXPECT_EQ(lost_, (std::vector<PacketNumber>{0}));
    EXPECT_EQ(detector_.deadline(), never);
}

TEST_F(LossDetectorTest, nothing_is_lost_as_long_as_nothing_later_is_acknowledged) {
    send(0, 20, 0);
    acknowledge(10'000'000 * us, ack_of(0, 4));
    EXPECT_TRUE(lost_.empty());
    EXPECT_EQ(detector_.deadline(), never);
}

TEST_F(LossDetectorTest, a_short_round_trip_leaves_a_late_thread_its_time) {
    RttEstimator rtt(1'000 * us);
    rtt.sample(30 * us, 0, 0);
    EXPECT_EQ(LossDetector::time_threshold(rtt), LossDetector::time_floor_ns);
}

TEST_F(LossDetectorTest,
       packets_overtaken_by_many_raise_the_threshold_to_what_was_seen_and_64_at_most) {
    send(0, 30, 0);
    acknowledge(40 * us, ack_of(5, 10));
    EXPECT_EQ(lost_, (std::vector<PacketNumber>{0, 1, 2, 3, 4}));
    const SettledPackets settled = acknowledge(50 * us, ack_of(4, 10));
    EXPECT_EQ(settled.spurious, 1U);
    EXPECT_EQ(detector_.packet_threshold(), 7U);
    lost_.clear();
    acknowledge(60 * us, ack_of(13, 17));
    EXPECT_TRUE(lost_.empty()) << "11 is overtaken by 6";
    acknowledge(61 * us, ack_of(13, 18));
    EXPECT_EQ(lost_, (std::vector<PacketNumber>{11}));
    send(31, 300, 100 * us);
    acknowledge(400 * us, ack_of(13, 300));
    EXPECT_EQ(acknowledge(401 * us, ack_of(11, 300)).spurious, 2U) << "11 and 12";
    EXPECT_EQ(detector_.packet_threshold(), LossDetector::packet_threshold_max);
}

TEST_F(LossDetectorTest, a_loss_is_recognised_as_spurious_once) {
    send(0, 9, 0);
    acknowledge(10 * us, ack_of(1, 9));
    EXPECT_EQ(acknowledge(11 * us, ack_of(0, 9)).spurious, 1U);
    EXPECT_EQ(acknowledge(12 * us, ack_of(0, 9)).spurious, 0U);
}

TEST_F(LossDetectorTest, path_probes_count_neither_as_acknowledged_nor_as_lost_content) {
    for (PacketNumber number = 0; number < 5; ++number) {
        sent_.add(number, SentDatagram{.bytes = 9000, .is_path_probe = number < 2});
    }
    const SettledPackets settled = acknowledge(10 * us, ack_of(1, 4));
    EXPECT_EQ(lost_, (std::vector<PacketNumber>{0}));
    EXPECT_EQ(settled.lost, 0U);
    EXPECT_EQ(settled.acked, 3U);
}

TEST_F(LossDetectorTest, gives_all_up_on_request) {
    send(0, 99, 0);
    SettledPackets settled;
    std::vector<PacketNumber> lost;
    detector_.lose_all(sent_, settled,
                       [&](PacketNumber number, const auto&) { lost.push_back(number); });
    EXPECT_EQ(lost.size(), 100U);
    EXPECT_EQ(settled.lost, 100U);
    EXPECT_EQ(sent_.count(), 0U);
}

}  // namespace
}  // namespace acp::datagram
