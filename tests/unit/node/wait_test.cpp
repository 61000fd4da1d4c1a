// SPDX-License-Identifier: BSD-3-Clause
// Properties of every wait, under each policy: it ends when it is ready, by a timeout or a signal
// only if asked to, by every ring of a bell, and by a death. Sleeps are the test's own, so nothing
// depends on time.
#include "node/wait.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>
#include <vector>

namespace acp::node {
namespace {

Segment make_segment(std::uint32_t procs) {
    Shape shape;
    shape.procs = shape.local_procs = procs;
    shape.machine_procs = procs;
    shape.starter_bytes = 4096;
    shape.datagram_bytes = 1408;
    auto made = Segment::create(shape);
    EXPECT_TRUE(made.is_ok()) << made.failure().message();
    return std::move(made).value();
}

// A node with a CPU for each rank, and one with far fewer CPUs.
class WaitTest : public testing::TestWithParam<std::uint32_t> {
protected:
    Segment segment_ = make_segment(GetParam());
    Waiter waiter_{segment_};
};

TEST_P(WaitTest, does_not_sleep_when_ready_at_once) {
    int sleeps = 0;
    const auto sleep = [&](std::int64_t) { return ++sleeps, os::Wake::woken; };
    EXPECT_EQ(waiter_.wait([] { return true; }, sleep, for_ever), Outcome::ready);
    EXPECT_EQ(waiter_.wait([] { return true; }, sleep, 0), Outcome::ready);
    EXPECT_EQ(sleeps, 0);
}

TEST_P(WaitTest, looks_but_never_sleeps_without_time) {
    int sleeps = 0;
    int looks = 0;
    const auto sleep = [&](std::int64_t) { return ++sleeps, os::Wake::woken; };
    EXPECT_EQ(waiter_.wait([&] { return ++looks, false; }, sleep, 0), Outcome::timeout);
    EXPECT_GT(looks, 0);
    EXPECT_EQ(sleeps, 0);
}

TEST_P(WaitTest, sleeps_on_after_being_woken_for_another_reason) {
    int sleeps = 0;
    const auto sleep = [&](std::int64_t) { return ++sleeps, os::Wake::woken; };
    EXPECT_EQ(waiter_.wait([&] { return sleeps == 5; }, sleep, for_ever), Outcome::ready);
    EXPECT_EQ(sleeps, 5);
}

TEST_P(WaitTest, a_nap_is_never_longer_than_the_time_that_is_left) {
    const auto sleep = [](std::int64_t nap_ns) {
        EXPECT_GE(nap_ns, 0);
        EXPECT_LE(nap_ns, 1'000'000);
        return os::Wake::woken;
    };
    EXPECT_EQ(waiter_.wait([] { return false; }, sleep, 1'000'000), Outcome::timeout);
}

TEST_P(WaitTest, a_signal_ends_a_wait_only_where_that_is_wanted) {
    os::SignalGate gate;
    int sleeps = 0;
    const auto sleep = [&](std::int64_t) { return ++sleeps, os::Wake::interrupted; };
    EXPECT_EQ(waiter_.wait([] { return false; }, sleep, for_ever, &gate), Outcome::interrupted);
    sleeps = 0;
    EXPECT_EQ(waiter_.wait([&] { return sleeps == 3; }, sleep, for_ever), Outcome::ready);
    EXPECT_EQ(waiter_.wait([&] { return sleeps == 4; }, sleep, for_ever, &gate), Outcome::ready)
        << "a ready condition takes precedence over the signal";
}

// No handler that ran is missed, at whichever poll it runs: while the thread spins as well as
// later.
TEST_P(WaitTest, a_signal_during_any_look_ends_the_wait) {
    struct sigaction action {};

    struct sigaction before {};

    action.sa_handler = [](int) {};
    sigaction(SIGUSR1, &action, &before);
    for (int look = 1; look <= 60; ++look) {
        os::SignalGate gate;
        sync::Bell<> bell;
        int looks = 0;
        const auto ready = [&] {
            if (++looks == look) pthread_kill(pthread_self(), SIGUSR1);
            return looks > 1'000'000;  // the wait would never end otherwise
        };
        const auto sleep = [&](std::int64_t) { return sleep_on_bell(bell, ready, 100'000, &gate); };
        EXPECT_EQ(waiter_.wait(ready, sleep, 10'000'000'000, &gate), Outcome::interrupted)
            << "in look " << look;
    }
    sigaction(SIGUSR1, &before, nullptr);
}

TEST_P(WaitTest, checks_for_deaths_after_a_nap_without_a_wakeup) {
    Slot& slot = segment_.slot(0);
    slot.has_life_lock.store(1, std::memory_order_relaxed);  // but no process holds it
    slot.state.store(static_cast<std::uint32_t>(SlotState::joined), std::memory_order_release);
    const auto sleep = [](std::int64_t nap_ns) {
        EXPECT_LE(nap_ns, liveness_check_ns);
        return os::Wake::timeout;
    };
    EXPECT_EQ(waiter_.wait([&] { return is_dead(segment_, 0); }, sleep, for_ever), Outcome::ready);
}

TEST_P(WaitTest, no_ring_of_a_bell_is_missed) {
    constexpr std::uint32_t rounds = 2000;
    sync::Bell<>& bell = segment_.slot(0).door.waiter_bell;
    std::atomic<std::uint32_t> published{0};
    std::atomic<std::uint32_t> seen{0};
    std::thread ringer([&] {
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            published.store(round, std::memory_order_release);
            ring_bell(bell);
            while (seen.load(std::memory_order_acquire) < round) std::this_thread::yield();
        }
    });
    for (std::uint32_t round = 1; round <= rounds; ++round) {
        const auto ready = [&] { return published.load(std::memory_order_acquire) >= round; };
        const auto sleep = [&](std::int64_t) { return sleep_on_bell(bell, ready, for_ever); };
        ASSERT_EQ(waiter_.wait(ready, sleep, for_ever), Outcome::ready);
        seen.store(round, std::memory_order_release);
    }
    ringer.join();
}

INSTANTIATE_TEST_SUITE_P(nodes, WaitTest, testing::Values(1U, 64U), [](const auto& each) {
    return std::to_string(each.param) + "_ranks";
});

}  // namespace
}  // namespace acp::node
