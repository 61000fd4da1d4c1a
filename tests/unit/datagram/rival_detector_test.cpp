// SPDX-License-Identifier: BSD-3-Clause
// The rounds and drains that reveal flows which do not yield to delay.
#include "datagram/rival_detector.hpp"

#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

constexpr Time rtt = 2'000'000;
constexpr Time late_rtt = 5'000'000;

class RivalDetectorTest : public testing::Test {
protected:
    explicit RivalDetectorTest(Time shortest = rtt) {
        detector_.note_round_trip(shortest);
        for (std::uint32_t i = 0; i < RivalDetector::drains_min; ++i) EXPECT_FALSE(drain(false));
    }

    bool round(bool is_late, double window) {
        now_ += late_rtt;
        return detector_.on_round(now_, is_late ? late_rtt : rtt, is_late, window);
    }

    bool drain(bool is_late) {
        now_ += 100 * late_rtt;
        return detector_.on_drain(now_, is_late ? late_rtt : rtt);
    }

    // Late rounds that halve the window, until little of it is left.
    void give_way() {
        for (double window = 64; window > 64 * RivalDetector::window_share; window /= 2) {
            EXPECT_FALSE(round(true, window));
        }
    }

    RivalDetector detector_;
    Time now_ = 0;
};

TEST_F(RivalDetectorTest, finds_them_when_giving_way_does_not_shorten_the_queue) {
    EXPECT_FALSE(round(false, 64));
    give_way();
    for (std::uint32_t i = 1; i < RivalDetector::late_rounds_min; ++i) EXPECT_FALSE(round(true, 8));
    EXPECT_FALSE(detector_.has_rivals(now_));
    EXPECT_TRUE(round(true, 8));
    EXPECT_TRUE(detector_.has_rivals(now_));
    EXPECT_EQ(detector_.window_before(), 64);
}

TEST_F(RivalDetectorTest, finds_none_where_the_queue_goes_once_it_gave_way) {
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(round(false, 64));
        give_way();
        for (std::uint32_t k = 1; k < RivalDetector::late_rounds_min; ++k)
            EXPECT_FALSE(round(true, 8));
    }
    EXPECT_FALSE(round(false, 8));
    EXPECT_FALSE(detector_.has_rivals(now_));
}

TEST_F(RivalDetectorTest, finds_none_while_most_of_its_own_window_is_left) {
    EXPECT_FALSE(round(false, 64));
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(round(true, 40));
}

TEST_F(RivalDetectorTest, does_not_count_the_queue_of_its_own_slow_start_as_a_rivals) {
    give_way();
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(round(true, 8));
}

TEST_F(RivalDetectorTest, finds_none_before_it_knows_the_path) {
    RivalDetector newcomer;
    newcomer.note_round_trip(rtt);
    detector_ = newcomer;
    for (std::uint32_t i = 1; i < RivalDetector::drains_min; ++i) EXPECT_FALSE(drain(true));
    EXPECT_FALSE(round(false, 64));
    give_way();
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(round(true, 8));
}

TEST_F(RivalDetectorTest, finds_them_by_two_late_drains_in_a_row) {
    EXPECT_FALSE(drain(true));
    EXPECT_FALSE(drain(false));
    EXPECT_FALSE(drain(true));
    EXPECT_TRUE(drain(true));
    EXPECT_TRUE(detector_.has_rivals(now_));
    EXPECT_TRUE(drain(true)) << "still there";
    EXPECT_FALSE(drain(false));
    EXPECT_FALSE(drain(true)) << "the count begins anew";
}

TEST_F(RivalDetectorTest, believes_it_for_a_thousand_rounds) {
    EXPECT_FALSE(drain(true));
    EXPECT_TRUE(drain(true));
    const Time end = now_ + RivalDetector::belief_rounds * late_rtt;
    EXPECT_TRUE(detector_.has_rivals(end - 1));
    EXPECT_FALSE(detector_.has_rivals(end));
}

TEST_F(RivalDetectorTest, forgets_after_a_silence_but_not_how_long_the_path_is) {
    EXPECT_FALSE(drain(true));
    EXPECT_TRUE(drain(true));
    detector_.forget();
    EXPECT_FALSE(detector_.has_rivals(now_));
    for (std::uint32_t i = 0; i < RivalDetector::drains_min; ++i) EXPECT_FALSE(drain(true));
    EXPECT_TRUE(detector_.is_long_path());
    detector_.note_round_trip(late_rtt);
    detector_.note_round_trip(RivalDetector::long_path_ns);
    EXPECT_TRUE(detector_.is_long_path());
}

class RivalDetectorOnShortPathTest : public RivalDetectorTest {
protected:
    RivalDetectorOnShortPathTest() : RivalDetectorTest(RivalDetector::long_path_ns - 1) {}
};

TEST_F(RivalDetectorOnShortPathTest, never_finds_any) {
    EXPECT_FALSE(detector_.is_long_path());
    EXPECT_FALSE(round(false, 64));
    give_way();
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(round(true, 8));
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(drain(true));
    detector_.note_round_trip(1'000 * late_rtt);
    EXPECT_FALSE(drain(true)) << "the shortest counts";
}

}  // namespace
}  // namespace acp::datagram
