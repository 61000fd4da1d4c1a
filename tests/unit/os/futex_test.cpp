// SPDX-License-Identifier: BSD-3-Clause
// Sleeping and waking on a word, in one process and across two.
#include "os/futex.hpp"

#include <climits>
#include <gtest/gtest.h>
#include <new>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "os/clock.hpp"
#include "os/mapping.hpp"

#include "support/child_process.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::os {
namespace {

using Word = std::atomic<std::uint32_t>;

constexpr std::int64_t for_ever = -1;

// A word shared with children forked later.
class SharedWord {
public:
    SharedWord() {
        constexpr int shared = MAP_SHARED | MAP_ANONYMOUS;
        void* memory = mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, shared, -1, 0);
        if (memory != MAP_FAILED) word_ = new (memory) Word(0);
    }

    SharedWord(const SharedWord&) = delete;
    SharedWord& operator=(const SharedWord&) = delete;

    ~SharedWord() { munmap(word_, page_bytes()); }

    [[nodiscard]] Word& get() const { return *word_; }

private:
    Word* word_ = nullptr;
};

TEST(Futex, does_not_sleep_on_a_word_that_changed) {
    const Word word{5};
    EXPECT_EQ(futex_wait(word, 4, for_ever), Wake::changed);
}

TEST(Futex, returns_when_the_time_is_over_and_not_before) {
    const Word word{5};
    const std::uint64_t start = now_ns();
    EXPECT_EQ(futex_wait(word, 5, 3'000'000), Wake::timeout);
    EXPECT_GE(now_ns() - start, 3'000'000U);
    EXPECT_EQ(futex_wait(word, 5, 0), Wake::timeout);
}

TEST(Futex, wakes_no_thread_without_sleepers) {
    Word word{0};
    EXPECT_EQ(futex_wake(word, INT_MAX), 0);
}

TEST(Futex, wakes_a_sleeper_in_another_process_that_shares_the_word) {
    const test::ScopedWatchdog watchdog(
        "Futex wakes a sleeper in another process that shares the word");
    const SharedWord word;
    test::ChildProcess child([&] {
        while (word.get().load(std::memory_order_acquire) == 0) {
            if (futex_wait(word.get(), 0, for_ever) == Wake::woken) return 7;
        }
        return 0;
    });
    // The word stays 0: only the wake ends the child's sleep.
    while (futex_wake(word.get(), 1) == 0) sched_yield();
    EXPECT_EQ(child.exit_code(), 7);
}

TEST(Futex, wakes_no_more_sleepers_than_asked) {
    const test::ScopedWatchdog watchdog("Futex wakes no more sleepers than asked");
    const SharedWord word;
    const auto sleep = [&] { return futex_wait(word.get(), 0, for_ever) == Wake::woken ? 1 : 0; };
    test::ChildProcess first(sleep);
    test::ChildProcess second(sleep);
    int woken = 0;
    while (woken < 2) {
        const int now = futex_wake(word.get(), 1);
        EXPECT_LE(now, 1);
        woken += now;
        sched_yield();
    }
    EXPECT_EQ(first.exit_code(), 1);
    EXPECT_EQ(second.exit_code(), 1);
}

TEST(Futex, reports_that_a_signal_handler_ran) {
    const test::ScopedWatchdog watchdog("Futex tells that a signal handler ran");

    struct sigaction action = {};
    struct sigaction previous = {};
    action.sa_handler = [](int) {};
    ASSERT_EQ(sigaction(SIGUSR1, &action, &previous), 0);
    sigevent event = {};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    timer_t timer = {};
    ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    // Repeated, because the first signal may arrive before the sleep.
    const itimerspec often = {{0, 2'000'000}, {0, 2'000'000}};
    ASSERT_EQ(timer_settime(timer, 0, &often, nullptr), 0);
    const Word word{0};
    EXPECT_EQ(futex_wait(word, 0, for_ever), Wake::interrupted);
    ASSERT_EQ(timer_delete(timer), 0);
    ASSERT_EQ(sigaction(SIGUSR1, &previous, nullptr), 0);
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
