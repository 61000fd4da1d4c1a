// SPDX-License-Identifier: BSD-3-Clause
// A timer that is set to the earliest of the times that threads request, and stays set.
#include "os/lazy_timer.hpp"

#include <array>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "os/clock.hpp"
#include "os/poll_set.hpp"

namespace acp::os {
namespace {

constexpr std::uint64_t minute_ns = 60'000'000'000;

struct LazyTimerTest : testing::Test {
    LazyTimer timer = std::move(LazyTimer::create()).value();

    // Whether it fires within `ns`.
    bool fires_within(std::int64_t ns) { return wait_readable(timer.fd(), -1, ns); }
};

TEST_F(LazyTimerTest, fires_at_the_earliest_time) {
    const std::uint64_t begin_ns = now_ns();
    timer.fire_by(begin_ns + minute_ns);
    EXPECT_FALSE(fires_within(0));
    timer.fire_by(begin_ns + 1'000'000);
    timer.fire_by(begin_ns + 2 * minute_ns);
    timer.fire_by(LazyTimer::never);
    EXPECT_TRUE(fires_within(minute_ns));
    EXPECT_GE(now_ns(), begin_ns + 1'000'000);
}

TEST_F(LazyTimerTest, fires_again_after_it_was_noted_and_set) {
    timer.fire_by(0);
    EXPECT_TRUE(fires_within(minute_ns));
    timer.note_fired();
    timer.fire_by(now_ns() + minute_ns);
    EXPECT_FALSE(fires_within(0));
    timer.fire_by(now_ns());
    EXPECT_TRUE(fires_within(minute_ns));
}

TEST_F(LazyTimerTest, the_earliest_of_many_threads_times_counts) {
    for (int round = 0; round < 100; ++round) {
        timer.note_fired();
        const std::uint64_t begin_ns = now_ns();
        std::vector<std::thread> threads;
        for (std::uint64_t i = 0; i < 4; ++i) {
            threads.emplace_back([&, i] {
                const std::uint64_t first_ns = begin_ns + (i == 2 ? 10'000 : minute_ns);
                for (std::uint64_t step = 100; step != 0; --step) timer.fire_by(first_ns + step);
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_TRUE(fires_within(minute_ns / 2)) << round;
    }
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
