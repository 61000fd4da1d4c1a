// SPDX-License-Identifier: BSD-3-Clause
// The thread that sleeps on a bell for a program that sleeps in poll(2): every ring after the
// announcement makes the descriptor readable, at any time, and no ring does after a disarm.
#include "pm/poll_waker.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

#include "node/wait.hpp"

#include "claims/library_claims.hpp"
#include "support/random.hpp"

namespace acp::pm {
namespace {

node::Segment made() {
    node::Shape shape;
    shape.procs = shape.local_procs = shape.machine_procs = 2;
    shape.starter_bytes = 4096;
    shape.datagram_bytes = 1024;
    auto segment = node::Segment::create(shape, claims::library_claims());
    if (!segment.is_ok()) ADD_FAILURE() << segment.failure().message();
    return std::move(segment).value();
}

bool is_readable(const PollWaker& waker, int timeout_ms) {
    pollfd wanted{waker.fd(), POLLIN, 0};
    return poll(&wanted, 1, timeout_ms) == 1;
}

class PollWakerTest : public ::testing::Test {
protected:
    // Without a given limit only a ring ends the sleep.
    PollWakerTest() : segment_(made()), waker_(make_waker(node::for_ever)) {}

    [[nodiscard]] std::unique_ptr<PollWaker> make_waker(std::int64_t patience_ns) {
        auto created = PollWaker::create(segment_, bell_, patience_ns);
        if (!created.is_ok()) ADD_FAILURE() << created.failure().message();
        return std::move(created).value();
    }

    node::Segment segment_;
    sync::Bell<> bell_;
    std::unique_ptr<PollWaker> waker_;
};

// If a wakeup were lost, the destructor would wait for ever.
TEST_F(PollWakerTest, it_ends_at_any_moment_of_its_thread) {
    test::Random random(1);
    for (int i = 0; i < 3000; ++i) {
        const std::unique_ptr<PollWaker> waker = make_waker(node::for_ever);
        if (random.chance(30)) waker->arm(bell_.announce());
        if (random.chance(30)) waker->disarm();
        for (auto spins = random.below(20'000); spins > 0; --spins)
            std::atomic_signal_fence(std::memory_order_seq_cst);
    }
}

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
    waker_ = make_waker(PollWaker::as_sleepers);
    waker_->arm(bell_.announce());
    EXPECT_TRUE(is_readable(*waker_, 60'000));
}

TEST_F(PollWakerTest, ends_in_any_state) {
    for (int state = 0; state < 30; ++state) {
        const std::unique_ptr<PollWaker> waker = make_waker(node::for_ever);
        if (state % 3 != 0) waker->arm(bell_.announce());
        if (state % 2 != 0) std::this_thread::yield();
        if (state % 3 == 2) waker->disarm();
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
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        asked.store(round, std::memory_order_release);
        while (answered.load(std::memory_order_acquire) < round) {
            waker_->disarm();
            const std::uint32_t value = bell_.announce();
            if (answered.load(std::memory_order_seq_cst) >= round) break;
            waker_->arm(value);
            ASSERT_TRUE(is_readable(*waker_, 60'000)) << "a ring was lost in round " << round;
        }
    }
    ringer.join();
}

TEST_F(PollWakerTest, a_descriptor_that_the_program_has_closed_is_left_alone) {
    const int number = waker_->fd();
    std::array<int, 2> ends{-1, -1};
    ASSERT_EQ(pipe(ends.data()), 0);
    ASSERT_EQ(write(ends[1], "kept", 4), 4);
    // Closes the descriptor and opens another file under its number.
    ASSERT_EQ(dup2(ends[0], number), number);
    EXPECT_FALSE(waker_->has_descriptor());
    waker_->disarm();
    waker_->arm(bell_.announce());
    node::ring_bell(bell_);
    waker_.reset();
    char content[4] = {};
    EXPECT_EQ(read(number, content, 4), 4) << "it was closed or read";
    EXPECT_EQ(std::string(content, 4), "kept");
    EXPECT_EQ(close(number) + close(ends[0]) + close(ends[1]), 0);
}

}  // namespace
}  // namespace acp::pm
