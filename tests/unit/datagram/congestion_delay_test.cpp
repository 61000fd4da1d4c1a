// SPDX-License-Identifier: BSD-3-Clause
// The reaction of delay-based control to single rounds: standing queues, late threads, scattered
// loss, drains. One thread.
#include "datagram/congestion_delay.hpp"

#include <gtest/gtest.h>

namespace acp::datagram {
namespace {

constexpr std::uint32_t one = 1472;
constexpr Time us = 1000;
constexpr Time ms = 1'000'000;

class CongestionDelayTest : public testing::Test {
protected:
    CongestionSample sample_of(Time rtt_ns) {
        CongestionSample sample;
        sample.now = now_;
        sample.in_flight = control_.window_bytes();
        sample.acked = 16;
        sample.acked_bytes = 16 * one;
        sample.sent = now_ - rtt_ns;
        sample.rtt_ns = rtt_ns;
        sample.smoothed_rtt_ns = rtt_ns;
        sample.datagram_bytes = one;
        return sample;
    }

    // A whole round trip passes.
    void round(Time rtt_ns) {
        now_ += rtt_ns;
        control_.on_sample(sample_of(rtt_ns));
    }

    // Ends slow start with a window of about a megabyte on a path of 30 us.
    void settle() {
        round(30 * us);
        while (control_.window_bytes() < 1'000'000) {
            now_ += us;
            control_.on_sample(sample_of(30 * us));
        }
        CongestionSample sample = sample_of(30 * us);
        sample.lost = 1;
        sample.newest_lost_sent = now_;
        control_.on_sample(sample);
        ASSERT_FALSE(control_.is_slow_start());
        round(100 * us);
    }

    CongestionDelay control_{one};
    Time now_ = 1000 * ms;
};

TEST_F(CongestionDelayTest, short_paths_have_one_target_and_small_windows_a_longer_one) {
    round(30 * us);
    round(30 * us);
    const Time small = control_.target_ns();
    settle();
    const Time large = control_.target_ns();
    EXPECT_GT(small, large);
    EXPECT_NEAR(static_cast<double>(large), 450.0 * us, 20.0 * us);
    CongestionDelay longer(one);
    for (int i = 0; i < 2; ++i) {
        CongestionSample sample = sample_of(150 * us);
        sample.in_flight = 0;
        longer.on_sample(sample);
        now_ += 150 * us;
    }
    CongestionDelay shorter(one);
    for (int i = 0; i < 2; ++i) {
        CongestionSample sample = sample_of(20 * us);
        sample.in_flight = 0;
        shorter.on_sample(sample);
        now_ += 20 * us;
    }
    EXPECT_EQ(longer.target_ns(), shorter.target_ns()) << "150 us is a short path too";
}

TEST_F(CongestionDelayTest, a_standing_queue_reduces_in_proportion_and_at_most_by_half) {
    settle();
    const std::uint64_t before = control_.window_bytes();
    now_ += 500 * us;
    round(500 * us);
    EXPECT_LT(control_.window_bytes(), before);
    EXPECT_GT(control_.window_bytes(), before * 8 / 10);
    const std::uint64_t again = control_.window_bytes();
    now_ += 20 * ms;
    round(20 * ms);
    EXPECT_NEAR(static_cast<double>(control_.window_bytes()), static_cast<double>(again) / 2, 1.0);
}

TEST_F(CongestionDelayTest, a_thread_that_was_late_is_no_congestion) {
    settle();
    const std::uint64_t before = control_.window_bytes();
    for (int i = 0; i < 10; ++i) {
        now_ += 1 * ms;  // only the round's last acknowledgement is not very late
        CongestionSample late = sample_of(5 * ms);
        control_.on_sample(late);
        round(100 * us);
    }
    EXPECT_GE(control_.window_bytes(), before);
}

TEST_F(CongestionDelayTest, scattered_loss_without_delay_reduces_nothing) {
    settle();
    const std::uint64_t before = control_.window_bytes();
    for (int i = 0; i < 1000; ++i) {
        now_ += 10 * us;
        CongestionSample sample = sample_of(50 * us);
        if (i % 6 == 0) {  // one in a hundred datagrams
            sample.lost = 1;
            sample.newest_lost_sent = now_ - 50 * us;
        }
        control_.on_sample(sample);
    }
    EXPECT_GE(control_.window_bytes(), before);
}

TEST_F(CongestionDelayTest, the_same_loss_with_a_full_queue_reduces) {
    settle();
    const std::uint64_t before = control_.window_bytes();
    now_ += 10 * us;
    CongestionSample sample = sample_of(440 * us);
    sample.lost = 1;
    sample.newest_lost_sent = now_;
    control_.on_sample(sample);
    EXPECT_NEAR(static_cast<double>(control_.window_bytes()), 0.7 * static_cast<double>(before), 1);
}

TEST_F(CongestionDelayTest, one_mark_in_many_reduces_less_than_all_marked) {
    settle();
    for (int i = 0; i < 60; ++i) round(100 * us);  // no marks: their share is forgotten
    std::uint64_t before = control_.window_bytes();
    now_ += 100 * us;
    CongestionSample sample = sample_of(100 * us);
    sample.marked = 1;
    control_.on_sample(sample);
    EXPECT_LT(control_.window_bytes(), before);
    EXPECT_GT(control_.window_bytes(), before * 9 / 10);
    for (int i = 0; i < 30; ++i) {
        now_ += 100 * us;
        sample = sample_of(100 * us);
        sample.marked = sample.acked;
        before = control_.window_bytes();
        control_.on_sample(sample);
    }
    EXPECT_LT(static_cast<double>(control_.window_bytes()), 0.65 * static_cast<double>(before));
}

TEST_F(CongestionDelayTest, a_window_below_two_datagrams_is_kept_by_pacing) {
    settle();
    for (int i = 0; i < 60; ++i) round(20 * ms);
    EXPECT_EQ(control_.window_bytes(), 2U * one);
    EXPECT_LT(control_.pacing_window_bytes(), one);
    EXPECT_GE(control_.pacing_window_bytes(), one / 8);
}

TEST_F(CongestionDelayTest, lets_the_path_run_empty_when_asked_and_learns_the_round_trip_then) {
    settle();
    const std::uint64_t before = control_.window_bytes();
    now_ += 200 * ms;
    CongestionSample asked = sample_of(100 * us);
    asked.is_drain_asked = true;
    control_.on_sample(asked);
    EXPECT_EQ(control_.window_bytes(), 2U * one);
    now_ += 100 * us;
    CongestionSample empty = sample_of(100 * us);
    empty.in_flight = 2 * one;
    control_.on_sample(empty);
    for (int i = 0; i < 2; ++i) {  // datagrams sent from then on, for a round trip
        EXPECT_EQ(control_.window_bytes(), 2U * one);
        now_ += 100 * us;
        control_.on_sample(sample_of(80 * us));
        now_ += 100 * us;
    }
    control_.on_sample(sample_of(80 * us));
    EXPECT_GE(control_.window_bytes(), before) << "then all is as before";
    now_ += ms;
    asked = sample_of(100 * us);
    asked.is_drain_asked = true;
    control_.on_sample(asked);
    EXPECT_GE(control_.window_bytes(), before) << "not again so soon";
}

}  // namespace
}  // namespace acp::datagram
