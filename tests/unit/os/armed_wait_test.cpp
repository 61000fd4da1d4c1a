// SPDX-License-Identifier: BSD-3-Clause
// A sleeper that wakes for descriptors only while they are armed.
#include "os/armed_wait.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include "os/clock.hpp"

#include "support/poll_sets.hpp"

namespace acp::os {
namespace {

using End = ArmedWait::End;

struct ArmedWaitTest : testing::Test {
    Event first = std::move(Event::create()).value();
    Event second = std::move(Event::create()).value();
    ArmedWait wait = std::move(ArmedWait::create(std::array{first.fd(), second.fd()})).value();

    // Whether wait() reports a descriptor, without sleeping.
    bool has_heard() {
        wait.signal();
        return wait.wait() == End::descriptor;
    }
};

TEST_F(ArmedWaitTest, does_not_report_descriptors_that_are_not_armed) {
    first.signal();
    EXPECT_FALSE(has_heard());
}

TEST_F(ArmedWaitTest, reports_each_descriptor_once) {
    for (Event* event : {&first, &second}) {
        wait.arm();
        EXPECT_FALSE(has_heard());
        event->signal();
        EXPECT_EQ(wait.wait(), End::descriptor);
        EXPECT_FALSE(has_heard());  // still readable
        wait.arm();
        EXPECT_EQ(wait.wait(), End::descriptor);
        EXPECT_TRUE(event->drain());
    }
}

TEST_F(ArmedWaitTest, reports_nothing_after_a_disarm) {
    wait.arm();
    wait.disarm();
    first.signal();
    EXPECT_FALSE(has_heard());
    wait.arm();
    EXPECT_EQ(wait.wait(), End::descriptor);
}

TEST_F(ArmedWaitTest, a_signal_is_reported_armed_or_not_and_taken) {
    for (const bool is_armed : {false, true}) {
        if (is_armed) wait.arm();
        wait.signal();
        EXPECT_EQ(wait.wait(), End::signal);
        wait.wake_by(1);
        EXPECT_EQ(wait.wait(), End::timer) << "the signal was taken";
    }
}

TEST_F(ArmedWaitTest, arming_wakes_a_sleeper_if_the_descriptor_is_readable_already) {
    second.signal();
    for (int round = 0; round < 200; ++round) {
        std::atomic<bool> is_heard{false};
        std::thread sleeper([&] { is_heard = wait.wait() == End::descriptor; });
        if (round % 2 == 0) std::this_thread::yield();
        wait.arm();
        sleeper.join();
        EXPECT_TRUE(is_heard);
    }
}

// The program closes every descriptor: the sleeper returns, also from later sleeps, and does not
// spin.
TEST(ArmedWaitClosed, a_sleeper_returns_though_the_program_closed_its_descriptors) {
    const auto close_and_wait = [] {
        ArmedWait wait = std::move(ArmedWait::create({})).value();
        std::thread sleeper([&] {
            EXPECT_EQ(wait.wait(), End::signal);
            const std::uint64_t begin_ns = now_ns();
            for (int call = 0; call < 10; ++call) EXPECT_EQ(wait.wait(), End::signal);
            EXPECT_GE(now_ns() - begin_ns, 10'000'000U);
        });
        // After this the sleeper sleeps, or finds its descriptors closed when it begins to.
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // lint: sleep is the subject
        for (int fd = 3; fd < 256; ++fd) (void)close(fd);
        sleeper.join();
        std::_Exit(testing::Test::HasFailure() ? 1 : 0);
    };
    EXPECT_EXIT(close_and_wait(), testing::ExitedWithCode(0), "");
}

TEST_F(ArmedWaitTest, reports_a_forgotten_descriptor_again_once_it_is_armed) {
    for (const bool is_forgotten_twice : {false, true}) {
        wait.forget();
        if (is_forgotten_twice) wait.forget();
        second.signal();
        EXPECT_FALSE(has_heard());
        wait.arm();
        EXPECT_EQ(wait.wait(), End::descriptor) << "it came before";
        EXPECT_TRUE(second.drain());
        wait.arm();
        EXPECT_FALSE(has_heard());
        first.signal();
        EXPECT_EQ(wait.wait(), End::descriptor) << "it came after";
        EXPECT_TRUE(first.drain());
    }
}

TEST_F(ArmedWaitTest, what_was_forgotten_is_in_no_set_of_the_kernels) {
    EXPECT_EQ(test::poll_sets_with(first.fd()), 1U);
    wait.forget();
    EXPECT_EQ(test::poll_sets_with(first.fd()), 0U);
    EXPECT_EQ(test::poll_sets_with(second.fd()), 0U);
    wait.arm();
    EXPECT_EQ(test::poll_sets_with(first.fd()), 1U);
}

TEST_F(ArmedWaitTest, arming_a_forgotten_closed_descriptor_has_no_effect) {
    wait.forget();
    { const Event closed = std::move(first); }
    wait.arm();
    EXPECT_FALSE(has_heard());
    second.signal();
    EXPECT_EQ(wait.wait(), End::descriptor);
}

TEST_F(ArmedWaitTest, the_earliest_time_ends_it_once) {
    wait.arm();
    const std::uint64_t begin_ns = now_ns();
    wait.wake_by(begin_ns + 60'000'000'000);
    wait.wake_by(begin_ns + 1'000'000);
    wait.wake_by(begin_ns + 30'000'000'000);
    EXPECT_EQ(wait.wait(), End::timer);
    EXPECT_GE(now_ns(), begin_ns + 1'000'000);
    first.signal();
    EXPECT_EQ(wait.wait(), End::descriptor);
}

TEST_F(ArmedWaitTest, a_time_that_is_past_ends_it_at_once) {
    for (const std::uint64_t at_ns : {std::uint64_t{0}, std::uint64_t{1}, now_ns()}) {
        wait.wake_by(at_ns);
        EXPECT_EQ(wait.wait(), End::timer);
    }
}

TEST_F(ArmedWaitTest, another_thread_moves_the_time_to_an_earlier_one) {
    for (int round = 0; round < 200; ++round) {
        wait.wake_by(now_ns() + 60'000'000'000);
        std::thread sleeper([&] { EXPECT_EQ(wait.wait(), End::timer); });
        if (round % 2 == 0) std::this_thread::yield();
        wait.wake_by(now_ns() + 1'000);
        sleeper.join();
    }
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
