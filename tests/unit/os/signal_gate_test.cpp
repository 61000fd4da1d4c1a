// SPDX-License-Identifier: BSD-3-Clause
// Signals stay pending while the gate is shut, are noticed when let_in() runs their handlers, and
// the mask is restored afterwards.
#include "os/signal_gate.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace acp::os::test {
namespace {

std::atomic<int> handled{0};

class SignalGateTest : public testing::Test {
protected:
    void SetUp() override {
        handled.store(0);

        struct sigaction action {};

        action.sa_handler = [](int) { handled.fetch_add(1); };
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR1, &action, &before_);
    }

    void TearDown() override { sigaction(SIGUSR1, &before_, nullptr); }

    static void signal_itself() { pthread_kill(pthread_self(), SIGUSR1); }

    static bool is_held_back() {
        sigset_t mask;
        pthread_sigmask(SIG_BLOCK, nullptr, &mask);
        return sigismember(&mask, SIGUSR1) == 1;
    }

    struct sigaction before_ {};

    std::atomic<std::uint32_t> word_{0};
};

TEST_F(SignalGateTest, holds_a_signal_back_until_it_is_let_in) {
    SignalGate gate;
    gate.shut();
    signal_itself();
    EXPECT_EQ(handled.load(), 0);
    EXPECT_TRUE(gate.let_in());
    EXPECT_EQ(handled.load(), 1);
    EXPECT_FALSE(gate.let_in()) << "it was told before";
    EXPECT_TRUE(is_held_back());
}

TEST_F(SignalGateTest, runs_what_is_pending_when_it_opens) {
    {
        SignalGate gate;
        gate.shut();
        signal_itself();
        EXPECT_EQ(handled.load(), 0);
    }
    EXPECT_EQ(handled.load(), 1);
    EXPECT_FALSE(is_held_back());
}

TEST_F(SignalGateTest, says_that_a_handler_ran_before_it_sleeps) {
    SignalGate gate;
    gate.shut();
    signal_itself();
    EXPECT_EQ(gate.wait(word_, 0, -1), Wake::interrupted);
    EXPECT_EQ(handled.load(), 1);
    EXPECT_EQ(gate.wait(word_, 0, 1), Wake::timeout);
    EXPECT_EQ(gate.wait(word_, 1, -1), Wake::changed);
    EXPECT_TRUE(is_held_back());
}

// A stop does not end a sleep like a handler does: the sleeper of another process is stopped and
// continued again and again.
TEST_F(SignalGateTest, sleeps_on_after_a_stop_of_the_process) {
    const pid_t sleeper = ::fork();
    ASSERT_GE(sleeper, 0);
    if (sleeper == 0) {
        MaskedFutexes sleepers;
        SignalGate gate(&sleepers);
        gate.shut();
        for (int i = 0; i < 50; ++i) {
            if (gate.wait(word_, 0, 10'000'000) != Wake::timeout) ::_exit(1);
        }
        signal_itself();
        ::_exit(gate.wait(word_, 0, 10'000'000'000) == Wake::interrupted ? 0 : 2);
    }
    int status = 0;
    while (::waitpid(sleeper, &status, WNOHANG) == 0) {
        ::kill(sleeper, SIGSTOP);
        ::waitpid(sleeper, &status, WUNTRACED);
        if (!WIFSTOPPED(status)) break;
        ::kill(sleeper, SIGCONT);
        ::usleep(1'000);  // lint: sleep is the subject
    }
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The signal arrives just before, at, and after the moment in which the thread falls asleep, and
// while another thread wakes it.
TEST_F(SignalGateTest, loses_no_signal_that_comes_as_it_falls_asleep_or_is_woken) {
    MaskedFutexes sleepers;
    auto first = sleepers.take();
    if (first == nullptr) GTEST_SKIP() << "this kernel has no sleep on a word that takes a mask";
    sleepers.give_back(std::move(first));
    constexpr std::uint32_t rounds = 3000;
    constexpr std::int64_t lost_ns = 2'000'000'000;
    std::atomic<std::uint32_t> begun{0};
    std::atomic<std::uint32_t> ended{0};
    const pthread_t sleeper = pthread_self();
    SignalGate gate(&sleepers);
    gate.shut();
    std::thread sender([&] {
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            while (begun.load(std::memory_order_acquire) < round) {
            }
            for (std::uint32_t i = 0; i < round % 97 * 20; ++i) {
                begun.load(std::memory_order_relaxed);  // takes a moment
            }
            if (round % 2 == 0) {
                word_.fetch_add(1);
                futex_wake(word_, everybody);
            }
            pthread_kill(sleeper, SIGUSR1);
            while (ended.load(std::memory_order_acquire) < round) std::this_thread::yield();
        }
    });
    std::uint32_t lost = 0;
    for (std::uint32_t round = 1; round <= rounds && lost == 0; ++round) {
        std::uint32_t value = word_.load();
        begun.store(round, std::memory_order_release);
        Wake wake = Wake::woken;
        do {
            wake = gate.wait(word_, value, lost_ns);
            value = word_.load();
        } while (wake == Wake::woken || wake == Wake::changed);
        lost += wake == Wake::interrupted ? 0 : 1;
        ended.store(lost == 0 ? round : rounds, std::memory_order_release);
    }
    begun.store(rounds, std::memory_order_release);
    sender.join();
    EXPECT_EQ(lost, 0U);
    EXPECT_TRUE(is_held_back());
}

TEST_F(SignalGateTest, sleeps_on_where_the_program_has_closed_its_descriptor) {
    MaskedFutexes sleepers;
    auto first = sleepers.take();
    if (first == nullptr) GTEST_SKIP() << "this kernel has no sleep on a word that takes a mask";
    sleepers.give_back(std::move(first));
    for (int i = 3; i < 64; ++i) {
        std::array<char, 64> target{};
        const std::string name = "/proc/self/fd/" + std::to_string(i);
        if (readlink(name.c_str(), target.data(), target.size() - 1) > 0 &&
            std::string_view(target.data()) == "anon_inode:[io_uring]") {
            close(i);
        }
    }
    SignalGate gate(&sleepers);
    gate.shut();
    EXPECT_EQ(gate.wait(word_, 0, 1), Wake::changed) << "nothing is waited for, so it looks again";
    EXPECT_EQ(gate.wait(word_, 0, 1), Wake::timeout);
    signal_itself();
    EXPECT_EQ(gate.wait(word_, 0, -1), Wake::interrupted);
}

TEST_F(SignalGateTest, takes_no_notice_of_a_signal_that_is_ignored) {
    signal(SIGUSR1, SIG_IGN);
    SignalGate gate;
    gate.shut();
    signal_itself();
    EXPECT_FALSE(gate.let_in());
    EXPECT_EQ(gate.wait(word_, 0, 1), Wake::timeout);
}

TEST_F(SignalGateTest, leaves_alone_what_the_thread_had_held_back_itself) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, nullptr);
    {
        SignalGate gate;
        gate.shut();
        signal_itself();
        EXPECT_FALSE(gate.let_in());
    }
    EXPECT_EQ(handled.load(), 0);
    EXPECT_TRUE(is_held_back());
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    EXPECT_EQ(handled.load(), 1);
}

TEST_F(SignalGateTest, does_nothing_while_it_was_never_shut) {
    SignalGate gate;
    signal_itself();
    EXPECT_EQ(handled.load(), 1);
    EXPECT_FALSE(gate.let_in());
    gate.open();
    EXPECT_FALSE(is_held_back());
}

// namespace acp::os::test
}  // namespace
}  // namespace acp::os::test
