// SPDX-License-Identifier: BSD-3-Clause
// The thread that sleeps on a bell for a program that sleeps in poll(2): each ring since the announcement makes the descriptor readable, whenever
// it comes, and nothing does after a disarm.
#include "pm/poll_waker.hpp"

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <poll.h>
#include <thread>
#include <utility>

#include "node/wait.hpp"

#include "support/clock.hpp"
#include "support/random.hpp"

namespace acp::pm {
namespace {

node::Segment made() {
    node::Shape shape;
    shape.procs = shape.local_procs = shape.machine_procs = 2;
    shape.starter_bytes = 4096;
    shape.datagram_bytes = 1024;
    auto segment = node::Segment::create(shape);
    if (!segment.is_ok()) ADD_FAILURE() << segment.failure().message();
    // As under an agent: the waker then signals by itself after 2 s.
    segment.value().control().watcher_pid.store(1, std::memory_order_relaxed);
    return std::move(segment).value();
}

bool is_readable(const PollWaker& waker, int timeout_ms) {
    pollfd wanted{waker.fd(), POLLIN, 0};
    return poll(&wanted, 1, timeout_ms) == 1;
}

class PollWakerTest : public ::testing::Test {
protected:
    PollWakerTest() : segment_(made()) {
        auto created = PollWaker::create(segment_, bell_);
        if (!created.is_ok()) ADD_FAILURE() << created.failure().message();
        waker_ = std::move(created).value();
    }

    node::Segment segment_;
    sync::Bell<> bell_;
    std::unique_ptr<PollWaker> waker_;
};

TEST_F(PollWakerTest, a_ring_makes_the_descriptor_readable_until_it_is_disarmed) {
    EXPECT_FALSE(is_readable(*waker_, 0));
    waker_->arm(bell_.announce());
    EXPECT_FALSE(is_readable(*waker_, 10));
    node::ring_bell(bell_);
    EXPECT_TRUE(is_readable(*waker_, 60'000));
    waker_->disarm();
    EXPECT_FALSE(is_readable(*waker_, 0));
}

TEST_F(PollWakerTest, a_ring_between_announcement_and_arm_counts) {
    const std::uint32_t value = bell_.announce();
    node::ring_bell(bell_);
    waker_->arm(value);
    EXPECT_TRUE(is_readable(*waker_, 60'000));
}

TEST_F(PollWakerTest, a_ring_while_disarmed_does_not_count) {
    waker_->arm(bell_.announce());
    waker_->disarm();
    node::ring_bell(bell_);
    EXPECT_FALSE(is_readable(*waker_, 20));
}

TEST_F(PollWakerTest, looks_for_what_was_lost_after_the_time_of_a_sleeper) {
    segment_.control().watcher_pid.store(0, std::memory_order_relaxed);
    waker_->arm(bell_.announce());
    EXPECT_TRUE(is_readable(*waker_, 60'000));
}

TEST_F(PollWakerTest, ends_in_any_state) {
    for (int state = 0; state < 30; ++state) {
        auto created = PollWaker::create(segment_, bell_);
        ASSERT_TRUE(created.is_ok());
        if (state % 3 != 0) created.value()->arm(bell_.announce());
        if (state % 2 != 0) std::this_thread::yield();
        if (state % 3 == 2) created.value()->disarm();
    }
}

TEST_F(PollWakerTest, no_ring_of_another_thread_is_lost) {
    constexpr std::uint64_t rounds = 3000;
    std::atomic<std::uint64_t> asked{0};
    std::atomic<std::uint64_t> answered{0};
    std::thread ringer([&] {
        test::Random random(7);
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            while (asked.load(std::memory_order_acquire) < round) std::this_thread::yield();
            for (std::uint64_t spins = random.below(20); spins > 0; --spins)
                std::this_thread::yield();
            answered.store(round, std::memory_order_release);
            node::ring_bell(bell_);
        }
    });
    std::uint64_t late = 0;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        asked.store(round, std::memory_order_release);
        const std::int64_t begin_ns = test::now_ns();
        while (answered.load(std::memory_order_acquire) < round) {
            waker_->disarm();
            const std::uint32_t value = bell_.announce();
            if (answered.load(std::memory_order_seq_cst) >= round) break;
            waker_->arm(value);
            EXPECT_TRUE(is_readable(*waker_, 60'000));
        }
        // Else the waker's own 2 s have ended the sleep.
        late += test::now_ns() - begin_ns > 3 * test::second_ns / 2 ? 1U : 0U;
    }
    ringer.join();
    EXPECT_LE(late, 1U);
}

}  // namespace
}  // namespace acp::pm
