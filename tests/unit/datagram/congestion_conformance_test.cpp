// SPDX-License-Identifier: BSD-3-Clause
// The conformance suite of congestion control algorithms, with any samples. One thread.
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "datagram/congestion.hpp"
#include "datagram/endpoint.hpp"

namespace acp::datagram {
namespace {

constexpr std::uint32_t one = 1472;
constexpr Time us = 1000;

class CongestionTest : public testing::TestWithParam<base::CongestionAlgorithm> {
protected:
    // A round trip later, all that was in flight is acknowledged except for some losses.
    void round(Time rtt_ns, std::uint32_t lost = 0, std::uint32_t marked = 0) {
        now_ += rtt_ns;
        CongestionSample sample;
        sample.now = now_;
        sample.in_flight = control_->window_bytes();
        sample.acked = static_cast<std::uint32_t>(sample.in_flight / one) - lost;
        sample.acked_bytes = std::uint64_t{sample.acked} * one;
        sample.lost = lost;
        sample.lost_bytes = std::uint64_t{lost} * one;
        sample.newest_lost_sent = now_ - rtt_ns;
        sample.marked = marked;
        sample.sent = now_ - rtt_ns;
        sample.rtt_ns = rtt_ns;
        sample.smoothed_rtt_ns = rtt_ns;
        sample.datagram_bytes = one;
        control_->on_sample(sample);
    }

    std::unique_ptr<Congestion> control_ = make_congestion(GetParam(), one);
    Time now_ = 1'000'000 * us;
};

TEST_P(CongestionTest, doubles_per_round_trip_until_the_first_sign_of_congestion) {
    EXPECT_TRUE(control_->is_slow_start());
    const std::uint64_t before = control_->window_bytes();
    for (int i = 0; i < 3; ++i) round(100 * us);
    EXPECT_EQ(control_->window_bytes(), 8 * before);
    round(100 * us, 10);
    EXPECT_FALSE(control_->is_slow_start());
}

TEST_P(CongestionTest, much_loss_reduces_once_per_round_trip) {
    for (int i = 0; i < 3; ++i) round(100 * us);
    const std::uint64_t before = control_->window_bytes();
    round(100 * us, 20);
    const std::uint64_t reduced = control_->window_bytes();
    EXPECT_LE(reduced, before * 8 / 10);
    EXPECT_GE(reduced, before * 4 / 10);
    CongestionSample sample;  // more of the same event: sent before the reaction
    sample.now = now_ + us;
    sample.lost = 20;
    sample.newest_lost_sent = now_ - us;
    sample.in_flight = reduced;
    sample.datagram_bytes = one;
    control_->on_sample(sample);
    EXPECT_EQ(control_->window_bytes(), reduced);
}

TEST_P(CongestionTest, marks_reduce_without_loss) {
    for (int i = 0; i < 3; ++i) round(100 * us);
    const std::uint64_t before = control_->window_bytes();
    round(100 * us, 0, 100);
    round(100 * us, 0, 100);
    EXPECT_LT(control_->window_bytes(), before * 2);
    EXPECT_FALSE(control_->is_slow_start());
}

TEST_P(CongestionTest, does_not_grow_while_something_else_limits_the_sender) {
    const std::uint64_t before = control_->window_bytes();
    for (int i = 0; i < 50; ++i) {
        now_ += 100 * us;
        CongestionSample sample;
        sample.now = now_;
        sample.in_flight = 2 * one;
        sample.acked = 2;
        sample.acked_bytes = 2 * one;
        sample.sent = now_ - 100 * us;
        sample.rtt_ns = 100 * us;
        sample.smoothed_rtt_ns = 100 * us;
        sample.datagram_bytes = one;
        control_->on_sample(sample);
    }
    EXPECT_EQ(control_->window_bytes(), before);
}

TEST_P(CongestionTest, silence_leads_to_the_floor_and_answers_lead_out_of_it) {
    for (int i = 0; i < 3; ++i) round(100 * us);
    control_->on_silence();
    EXPECT_EQ(control_->window_bytes(), 2U * one);
    for (int i = 0; i < 5; ++i) round(100 * us);
    EXPECT_GT(control_->window_bytes(), 16U * one);
}

TEST_P(CongestionTest, what_was_not_lost_after_all_restores_the_window) {
    for (int i = 0; i < 3; ++i) round(100 * us);
    const std::uint64_t before = control_->window_bytes();
    round(100 * us, 20);
    control_->on_spurious();
    EXPECT_GE(control_->window_bytes(), before);
}

TEST_P(CongestionTest, keeps_its_window_within_bounds_for_any_samples) {
    const std::uint64_t seed = 31;
    base::Random random(seed);
    for (int i = 0; i < 20'000; ++i) {
        now_ += random.below(1'000 * us);
        CongestionSample sample;
        sample.now = now_;
        sample.acked = static_cast<std::uint32_t>(random.below(100));
        sample.acked_bytes = std::uint64_t{sample.acked} * one;
        sample.lost = random.below(5) == 0 ? static_cast<std::uint32_t>(random.below(100)) : 0;
        sample.newest_lost_sent = now_ - random.below(1'000 * us);
        sample.marked = random.below(9) == 0 ? static_cast<std::uint32_t>(random()) : 0;
        sample.sent = random.below(3) == 0 ? never : now_ - random.below(now_);
        sample.rtt_ns = random.below(2) == 0 ? random() : random.below(1'000 * us);
        sample.smoothed_rtt_ns = random.below(1'000 * us);
        sample.is_drain_asked = random.below(50) == 0;
        sample.in_flight = random.below(2) == 0 ? control_->window_bytes() : random();
        sample.datagram_bytes = random.below(2) == 0 ? one : 8972;
        control_->on_sample(sample);
        if (random.below(500) == 0) control_->on_silence();
        if (random.below(500) == 0) control_->on_spurious();
        ASSERT_GE(control_->window_bytes(), 2U * one) << "seed " << seed;
        ASSERT_LE(control_->window_bytes(), 1ULL << 31) << "seed " << seed;
        ASSERT_GT(control_->pacing_window_bytes(), 0U) << "seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Controls,
                         CongestionTest,
                         testing::Values(base::CongestionAlgorithm::delay,
                                         base::CongestionAlgorithm::new_reno,
                                         base::CongestionAlgorithm::cubic),
                         [](const auto& parameter) {
                             return parameter.param == base::CongestionAlgorithm::delay ? "delay"
                                    : parameter.param == base::CongestionAlgorithm::cubic
                                        ? "cubic"
                                        : "new_reno";
                         });

}  // namespace
}  // namespace acp::datagram
