// SPDX-License-Identifier: BSD-3-Clause
// The thread that ends calls while the program computes: when it polls, sleeps, naps and ends. The
// calls are a counter of the test.
#include "offload/call_thread.hpp"

#include <atomic>
#include <ctime>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "os/clock.hpp"

#include "support/scoped_watchdog.hpp"

namespace acp::offload {
namespace {

class CallThreadTest : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(thread_.start().is_ok()); }

    // Something is over, as the process of a device says it.
    void end_one() {
        over_.fetch_add(1);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        thread_.wake();
    }

    void await_taken(std::uint32_t count) {
        while (taken_ != count) sched_yield();
    }

    void await_sleep() {
        while ((bell_.word().load() & 1U) == 0) sched_yield();
    }

    test::ScopedWatchdog watchdog_{"the thread that ends calls"};
    sync::Bell<> bell_;
    std::atomic<std::uint32_t> over_{0};
    std::atomic<std::uint32_t> taken_{0};
    std::atomic<std::uint32_t> announced_{0};
    std::atomic<std::uint64_t> visits_{0};
    CallThread thread_{bell_,
                       {.poll =
                            [this] {
                                visits_.fetch_add(1);
                                const bool is_any = taken_ != over_;
                                taken_ = over_.load();
                                return is_any;
                            },
                        .announce = [this] { announced_.fetch_add(1); },
                        .visits = [this] { return visits_.load(); }}};
};

TEST_F(CallThreadTest, ends_what_is_over_as_often_as_it_is_woken) {
    for (std::uint32_t i = 1; i <= 1000; ++i) {
        end_one();
        await_taken(i);
    }
}

TEST_F(CallThreadTest, announces_its_sleep_before_its_last_poll) {
    await_sleep();
    while (announced_ == 0) sched_yield();
    over_ = 1;  // the thread polls after it has announced its sleep again
    thread_.wake();
    await_taken(1);
}

TEST_F(CallThreadTest, uses_no_cpu_time_while_nothing_ends) {
    end_one();
    await_taken(1);
    await_sleep();
    const std::uint64_t visits = visits_;
    usleep(100'000);  // lint: sleep is the subject
    EXPECT_LE(visits_, visits + 2);
}

// While threads of the program poll it naps, so that no answer wakes it.
TEST_F(CallThreadTest, naps_while_other_threads_poll_and_takes_over_when_they_stop) {
    await_sleep();
    visits_.fetch_add(1);  // a thread of the program
    end_one();
    await_taken(1);
    const std::uint32_t announced = announced_;
    for (int i = 0; i < 2000; ++i) {
        visits_.fetch_add(1);
        usleep(10);  // lint: sleep is the subject
    }
    EXPECT_LE(announced_ - announced, 20U);
    end_one();
    await_taken(2);
}

TEST_F(CallThreadTest, ends_when_it_naps_and_when_it_sleeps) {
    await_sleep();
    thread_.stop();
    thread_.stop();
}

TEST_F(CallThreadTest, a_nap_ends_with_the_thread) {
    await_sleep();
    visits_.fetch_add(1);
    end_one();
    await_taken(1);
    thread_.stop();
}

}  // namespace
}  // namespace acp::offload
