// SPDX-License-Identifier: BSD-3-Clause
// Signals wait behind the gate, are noticed when they are let in, and find the mask as it was afterwards.
#include "os/signal_gate.hpp"

#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <pthread.h>

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

}  // namespace
}  // namespace acp::os::test
