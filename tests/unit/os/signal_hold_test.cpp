// SPDX-License-Identifier: BSD-3-Clause
// A held signal is delivered when the last hold of the thread ends; a signal of abort() at once.
#include "os/signal_hold.hpp"

#include <gtest/gtest.h>

namespace acp::os {
namespace {

volatile std::sig_atomic_t handled = 0;

void count(int /*signal*/) {
    handled = handled + 1;
}

class SignalHoldTest : public testing::Test {
protected:
    SignalHoldTest() {
        handled = 0;

        struct sigaction action {};

        action.sa_handler = count;
        for (const int signal : {SIGUSR1, SIGABRT}) sigaction(signal, &action, nullptr);
    }

    ~SignalHoldTest() override {
        for (const int signal : {SIGUSR1, SIGABRT}) (void)std::signal(signal, SIG_DFL);
    }
};

TEST_F(SignalHoldTest, delivers_a_signal_when_the_last_hold_ends) {
    {
        const SignalHold outer;
        {
            const SignalHold inner;
            pthread_kill(pthread_self(), SIGUSR1);
            EXPECT_EQ(handled, 0);
        }
        EXPECT_EQ(handled, 0) << "the outer hold lasts";
    }
    EXPECT_EQ(handled, 1);
}

TEST_F(SignalHoldTest, lets_handlers_of_abort_and_of_faults_run) {
    const SignalHold hold;
    pthread_kill(pthread_self(), SIGABRT);
    EXPECT_EQ(handled, 1);
}

TEST_F(SignalHoldTest, leaves_a_signal_blocked_that_the_program_has_blocked) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mask, nullptr);
    { const SignalHold hold; }
    pthread_kill(pthread_self(), SIGUSR1);
    EXPECT_EQ(handled, 0);
    pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
    EXPECT_EQ(handled, 1);
}

}  // namespace
}  // namespace acp::os
