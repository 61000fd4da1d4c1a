// SPDX-License-Identifier: BSD-3-Clause
// A sleeper that hears of descriptors only while they are armed.
#include "os/armed_wait.hpp"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "support/poll_sets.hpp"

namespace acp::os {
namespace {

constexpr std::int64_t at_once = 0;
constexpr std::int64_t for_ever = -1;

struct ArmedWaitTest : testing::Test {
    Event first = std::move(Event::create()).value();
    Event second = std::move(Event::create()).value();
    ArmedWait wait = std::move(ArmedWait::create(std::array{first.fd(), second.fd()})).value();
};

TEST_F(ArmedWaitTest, does_not_hear_what_is_not_armed) {
    first.signal();
    EXPECT_FALSE(wait.wait(at_once));
}

TEST_F(ArmedWaitTest, hears_each_descriptor_once) {
    for (Event* event : {&first, &second}) {
        wait.arm();
        EXPECT_FALSE(wait.wait(at_once));
        event->signal();
        EXPECT_TRUE(wait.wait(for_ever));
        EXPECT_FALSE(wait.wait(at_once));  // readable still
        wait.arm();
        EXPECT_TRUE(wait.wait(for_ever));
        EXPECT_TRUE(event->drain());
    }
}

TEST_F(ArmedWaitTest, hears_nothing_once_it_was_disarmed) {
    wait.arm();
    wait.disarm();
    first.signal();
    EXPECT_FALSE(wait.wait(at_once));
    wait.arm();
    EXPECT_TRUE(wait.wait(for_ever));
}

TEST_F(ArmedWaitTest, a_signal_is_heard_armed_or_not_and_taken) {
    for (const bool is_armed : {false, true}) {
        if (is_armed) wait.arm();
        wait.signal();
        EXPECT_FALSE(wait.wait(for_ever));
        EXPECT_FALSE(wait.wait(at_once));
    }
}

TEST_F(ArmedWaitTest, arming_wakes_who_sleeps_on_what_is_readable_already) {
    second.signal();
    for (int round = 0; round < 200; ++round) {
        std::atomic<bool> has_heard{false};
        std::thread sleeper([&] { has_heard = wait.wait(for_ever); });
        if (round % 2 == 0) std::this_thread::yield();
        wait.arm();
        sleeper.join();
        EXPECT_TRUE(has_heard);
    }
}

TEST_F(ArmedWaitTest, hears_again_what_was_forgotten_once_it_is_armed) {
    for (const bool is_forgotten_twice : {false, true}) {
        wait.forget();
        if (is_forgotten_twice) wait.forget();
        second.signal();
        EXPECT_FALSE(wait.wait(at_once));
        wait.arm();
        EXPECT_TRUE(wait.wait(for_ever)) << "it came before";
        EXPECT_TRUE(second.drain());
        wait.arm();
        EXPECT_FALSE(wait.wait(at_once));
        first.signal();
        EXPECT_TRUE(wait.wait(for_ever)) << "it came after";
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

TEST_F(ArmedWaitTest, arming_what_was_forgotten_and_closed_disturbs_nobody) {
    wait.forget();
    { const Event closed = std::move(first); }
    wait.arm();
    EXPECT_FALSE(wait.wait(at_once));
    second.signal();
    EXPECT_TRUE(wait.wait(for_ever));
}

TEST_F(ArmedWaitTest, the_time_ends_it) {
    wait.arm();
    EXPECT_FALSE(wait.wait(1'000));
    EXPECT_FALSE(wait.wait(1'000'000));
}

}  // namespace
}  // namespace acp::os
