// SPDX-License-Identifier: BSD-3-Clause
// A nap is due after many yields in a row that let other threads run, and is rarer the less it
// helped.
#include "node/yield_ping_pong_detector.hpp"

#include <gtest/gtest.h>

namespace acp::node {
namespace {

class YieldPingPongDetectorTest : public testing::Test {
protected:
    // Yields to another thread until a nap is due, a microsecond each; returns the time since the
    // last nap.
    std::uint64_t ns_until_nap() {
        const std::uint64_t from = now_ns_;
        do {
            now_ns_ += 1'000;
        } while (!detector_.note(true, now_ns_));
        return now_ns_ - from;
    }

    std::uint64_t now_ns_ = 1'000'000'000;
    YieldPingPongDetector detector_;
};

TEST_F(YieldPingPongDetectorTest, none_is_due_while_some_yields_find_no_other_thread) {
    for (int i = 0; i < 1000; ++i) {
        EXPECT_FALSE(
            detector_.note(i % static_cast<int>(YieldPingPongDetector::yields_in_a_row_max) != 0,
                           now_ns_ += 1'000));
    }
}

TEST_F(YieldPingPongDetectorTest, one_is_due_after_enough_yields_in_a_row) {
    for (std::uint32_t i = 1; i < YieldPingPongDetector::yields_in_a_row_max; ++i) {
        EXPECT_FALSE(detector_.note(true, now_ns_ += 1'000));
    }
    EXPECT_TRUE(detector_.note(true, now_ns_ += 1'000));
}

TEST_F(YieldPingPongDetectorTest, those_that_do_not_help_become_rare) {
    ns_until_nap();
    std::uint64_t gap = YieldPingPongDetector::gap_min_ns;
    for (int i = 0; i < 10; ++i) {
        const std::uint64_t waited = ns_until_nap();
        EXPECT_GE(waited, gap);
        EXPECT_LE(waited, gap + YieldPingPongDetector::yields_in_a_row_max * 1'000);
        gap = std::min(2 * gap, YieldPingPongDetector::gap_max_ns);
    }
}

TEST_F(YieldPingPongDetectorTest, one_that_helped_starts_anew) {
    for (int i = 0; i < 5; ++i) ns_until_nap();
    now_ns_ += YieldPingPongDetector::gap_max_ns;
    EXPECT_FALSE(detector_.note(false, now_ns_));
    ns_until_nap();
    EXPECT_LE(ns_until_nap(), YieldPingPongDetector::gap_min_ns +
                                  YieldPingPongDetector::yields_in_a_row_max * 1'000);
}

}  // namespace
}  // namespace acp::node
