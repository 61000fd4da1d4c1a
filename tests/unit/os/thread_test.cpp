// SPDX-License-Identifier: BSD-3-Clause
// Threads that block all signals, the clocks, and the barrier on all CPUs.
#include "os/thread.hpp"

#include <atomic>
#include <climits>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <string>

#include "os/clock.hpp"
#include "os/futex.hpp"
#include "os/membarrier.hpp"

#include "support/scoped_watchdog.hpp"

namespace acp::os {
namespace {

bool is_blocked(int signal) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return sigismember(&mask, signal) == 1;
}

TEST(Thread, runs_with_every_signal_blocked_and_its_name_cut) {
    bool is_deaf = true;
    char name[16] = {};
    auto thread = Thread::start("a name longer than fifteen", [&] {
        for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGRTMIN}) {
            is_deaf = is_deaf && is_blocked(signal);
        }
        pthread_getname_np(pthread_self(), name, sizeof name);
    });
    ASSERT_TRUE(thread.is_ok()) << thread.failure().message();
    EXPECT_TRUE(thread.value().is_joinable());
    thread.value().join();
    EXPECT_FALSE(thread.value().is_joinable());
    EXPECT_TRUE(is_deaf);
    EXPECT_EQ(std::string(name), "a name longer t");
    EXPECT_FALSE(is_blocked(SIGINT)) << "the starter's mask is as before";
}

TEST(Thread, is_waited_for_by_its_owner) {
    bool has_run = false;
    {
        auto thread = Thread::start("short", [&] { has_run = true; });
        ASSERT_TRUE(thread.is_ok());
        Thread owner = std::move(thread).value();
        Thread last = std::move(owner);
        EXPECT_FALSE(owner.is_joinable());  // NOLINT(bugprone-use-after-move): the state is defined
    }
    EXPECT_TRUE(has_run);
}

TEST(Thread, has_the_stack_it_was_given) {
    std::size_t stack_bytes = 0;
    auto thread = Thread::start(
        "stack",
        [&] {
            pthread_attr_t attributes;
            pthread_getattr_np(pthread_self(), &attributes);
            pthread_attr_getstacksize(&attributes, &stack_bytes);
            pthread_attr_destroy(&attributes);
        },
        300'000);
    ASSERT_TRUE(thread.is_ok());
    thread.value().join();
    EXPECT_GE(stack_bytes, 300'000U);
    EXPECT_LT(stack_bytes, 2'000'000U);  // a tool's own thread-local data comes on top
}

TEST(Thread, that_the_system_refuses_is_a_limit_with_advice) {
    constexpr std::uint64_t more_than_the_address_space = std::uint64_t{1} << 50;
    const auto thread = Thread::start(
        "huge", [] {}, more_than_the_address_space);
    ASSERT_FALSE(thread.is_ok());
    EXPECT_EQ(thread.failure().code(), base::Code::limit);
    EXPECT_NE(thread.failure().message().find("huge"), std::string::npos);
    EXPECT_NE(thread.failure().message().find("ulimit -u"), std::string::npos);
}

TEST(SignalBlock, holds_for_its_scope) {
    ASSERT_FALSE(is_blocked(SIGUSR1));
    {
        const SignalBlock block;
        EXPECT_TRUE(is_blocked(SIGUSR1));
    }
    EXPECT_FALSE(is_blocked(SIGUSR1));
}

TEST(Futex, passes_a_turn_between_threads_many_times) {
    const test::ScopedWatchdog watchdog("Futex passes a turn between threads many times");
    constexpr std::uint32_t turns = 2000;
    std::atomic<std::uint32_t> turn{0};
    const auto play = [&](std::uint32_t parity) {
        for (;;) {
            const std::uint32_t now = turn.load(std::memory_order_acquire);
            if (now >= turns) return;
            if (now % 2 != parity) {
                futex_wait(turn, now, -1);
                continue;
            }
            turn.store(now + 1, std::memory_order_release);
            futex_wake(turn, INT_MAX);
        }
    };
    auto other = Thread::start("other", [&] { play(1); });
    ASSERT_TRUE(other.is_ok());
    play(0);
    other.value().join();
    EXPECT_EQ(turn.load(), turns);
}

TEST(Membarrier, works_after_registering_or_is_refused_both_times) {
    const bool is_registered = register_expedited();
    EXPECT_EQ(expedite(), is_registered);
}

TEST(Clock, never_goes_back) {
    std::uint64_t last = now_ns();
    std::uint64_t last_tick = ticks();
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t now = now_ns();
        const std::uint64_t tick = ticks();
        ASSERT_GE(now, last);
        ASSERT_GE(tick, last_tick);
        last = now;
        last_tick = tick;
    }
}

TEST(Clock, knows_the_speed_of_the_counter) {
    const double speed = ticks_per_ns();
    EXPECT_GT(speed, 0.0);
    EXPECT_EQ(speed, ticks_per_ns());
    // Measured over 20 ms, so that a preemption between two readings changes the ratio little.
    const std::uint64_t start_ns = now_ns();
    const std::uint64_t start_tick = ticks();
    while (now_ns() - start_ns < 20'000'000) {
    }
    const auto spent_ticks = static_cast<double>(ticks() - start_tick);
    const auto spent_ns = static_cast<double>(now_ns() - start_ns);
    EXPECT_NEAR(spent_ticks / spent_ns / speed, 1.0, 0.3);
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
