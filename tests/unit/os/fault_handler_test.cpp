// SPDX-License-Identifier: BSD-3-Clause
// Which faults the handler repairs, in which circumstances, and the life of the ranges.
#include "os/fault_handler.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>
#include <vector>

#include "guarded_page.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::os {
namespace {

using base::Code;
using test::GuardedPage;
using test::open_page;
using test::refuse_repair;

#if defined(__x86_64__) || defined(__aarch64__)
constexpr bool knows_access = true;
#else
constexpr bool knows_access = false;
#endif

// ThreadSanitizer blocks all signals while a handler runs.
#if defined(__SANITIZE_THREAD__)
constexpr bool blocks_all_signals = true;
#else
constexpr bool blocks_all_signals = false;
#endif

TEST(FaultHandler, repairs_faults_and_names_address_access_and_cause) {
    GuardedPage page;
    auto range = page.watch(open_page);
    ASSERT_TRUE(range.is_ok()) << range.failure().message();
    errno = EDOM;
    EXPECT_EQ(*page.at(8), 0);
    EXPECT_EQ(errno, EDOM);
    EXPECT_EQ(page.repairs, 1);
    EXPECT_EQ(page.last.address, page.at(8));
    EXPECT_EQ(page.last.cause, FaultCause::rights);
    EXPECT_EQ(page.last.access, knows_access ? FaultAccess::read : FaultAccess::unknown);
    if (!knows_access) page.guard();
    *page.at(100) = 'w';
    EXPECT_EQ(page.repairs, 2);
    EXPECT_EQ(page.last.address, page.at(100));
    EXPECT_EQ(page.last.access, knows_access ? FaultAccess::write : FaultAccess::unknown);
    EXPECT_EQ(*page.at(100), 'w');
}

TEST(FaultHandler, refuses_overlaps_empty_ranges_and_one_range_past_the_limit) {
    std::vector<char> memory(64 * (FaultRange::ranges_max + 1));
    std::vector<FaultRange> ranges;
    const auto watch = [&](char* address, std::uint64_t bytes) {
        return FaultRange::create(address, bytes, refuse_repair, nullptr);
    };
    for (std::size_t i = 0; i < FaultRange::ranges_max; ++i) {
        auto made = watch(memory.data() + 64 * i, 64);
        ASSERT_TRUE(made.is_ok()) << made.failure().message();
        ranges.push_back(std::move(made).value());
    }
    char* const next = memory.data() + 64 * FaultRange::ranges_max;
    EXPECT_EQ(watch(next, 64).failure().code(), Code::limit);
    ranges.erase(ranges.begin() + 3);
    EXPECT_EQ(watch(memory.data() + 64 * 2 + 63, 2).failure().code(), Code::argument);
    EXPECT_EQ(watch(next, 0).failure().code(), Code::argument);
    EXPECT_EQ(watch(next, ~std::uint64_t{0}).failure().code(), Code::argument);
    EXPECT_TRUE(watch(memory.data() + 64 * 3, 64).is_ok());
}

TEST(FaultHandler, blocks_other_signals_during_a_repair) {
    static sigset_t during;
    GuardedPage page;
    auto range = page.watch([](void* owner, const MemoryFault& fault) noexcept {
        pthread_sigmask(SIG_BLOCK, nullptr, &during);
        return open_page(owner, fault);
    });
    ASSERT_TRUE(range.is_ok());
    *page.at(0) = 1;
    for (const int signal : {SIGUSR1, SIGALRM, SIGTERM, SIGINT}) {
        EXPECT_EQ(sigismember(&during, signal), 1) << signal;
    }
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT}) {
        EXPECT_EQ(sigismember(&during, signal), blocks_all_signals ? 1 : 0) << signal;
    }
    sigset_t after;
    pthread_sigmask(SIG_BLOCK, nullptr, &after);
    EXPECT_EQ(sigismember(&after, SIGUSR1), 0);
}

TEST(FaultHandler, lets_a_repair_fault_in_another_range) {
    if (blocks_all_signals) GTEST_SKIP() << "the kernel ends a thread that faults in a repair";
    static GuardedPage inner;
    GuardedPage outer;
    auto inner_range = inner.watch(open_page);
    auto range = outer.watch([](void* owner, const MemoryFault& fault) noexcept {
        *inner.at(1) = 'n';
        return open_page(owner, fault);
    });
    ASSERT_TRUE(range.is_ok() && inner_range.is_ok());
    *outer.at(0) = 'o';
    EXPECT_EQ(*outer.at(0), 'o');
    EXPECT_EQ(*inner.at(1), 'n');
}

TEST(FaultHandler, runs_on_an_alternative_stack_of_16_kib) {
    static std::array<char, 16384> stack;
    static std::atomic<bool> was_on_it;
    GuardedPage page;
    auto range = page.watch([](void* owner, const MemoryFault& fault) noexcept {
        std::array<char, 4096> copy{};
        std::memset(copy.data(), 1, copy.size());
        was_on_it = copy.data() > stack.data() && copy.data() < stack.data() + stack.size();
        return open_page(owner, fault);
    });
    ASSERT_TRUE(range.is_ok());
    std::thread([&] {
        stack_t alternative{};
        alternative.ss_sp = stack.data();
        alternative.ss_size = stack.size();
        ASSERT_EQ(sigaltstack(&alternative, nullptr), 0);
        *page.at(0) = 2;
        alternative.ss_flags = SS_DISABLE;
        sigaltstack(&alternative, nullptr);
    }).join();
    EXPECT_TRUE(was_on_it);
    EXPECT_EQ(*page.at(0), 2);
}

TEST(FaultHandler, ends_a_range_after_the_repairs_that_run_in_it) {
    const acp::test::ScopedWatchdog watchdog("a range that ends during a repair");
    static std::atomic<bool> is_in_repair;
    static std::atomic<bool> is_repaired;
    GuardedPage page;
    auto range = page.watch([](void* owner, const MemoryFault& fault) noexcept {
        is_in_repair = true;
        for (int i = 0; i < 100; ++i) sched_yield();
        is_repaired = true;
        return open_page(owner, fault);
    });
    ASSERT_TRUE(range.is_ok());
    std::thread toucher([&] { *page.at(0) = 1; });
    while (!is_in_repair) sched_yield();
    { const FaultRange ended = std::move(range).value(); }
    EXPECT_TRUE(is_repaired);
    toucher.join();
}

TEST(FaultHandler, repairs_in_threads_while_others_make_and_end_ranges) {
    const acp::test::ScopedWatchdog watchdog("ranges that come and end");
    constexpr int rounds = 300;
    const auto work = [] {
        for (int i = 0; i < rounds; ++i) {
            GuardedPage page;
            auto range = page.watch(open_page);
            ASSERT_TRUE(range.is_ok());
            *page.at(64) = 'a';
            EXPECT_EQ(page.repairs, 1);
        }
    };
    GuardedPage kept;
    auto range = kept.watch(open_page);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(work);
    for (int i = 0; i < rounds; ++i) {
        kept.guard();
        *kept.at(0) = 'k';
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(kept.repairs, rounds);
}

}  // namespace
}  // namespace acp::os
