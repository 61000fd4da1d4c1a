// SPDX-License-Identifier: BSD-3-Clause
// Keeps signal handlers of the program from running on the calling thread while this object lives. A
// handler that touches shared pages would wait for the thread that it interrupts, if that thread
// moves the page or holds a mutex. Signals that an instruction or abort() raises are not held: their handlers repair faults.
// A held signal is delivered when the last such object of the thread ends.
// Tests: tests/unit/os/signal_hold_test.cpp, tests/conformance/dsm_signal_test.cpp.
#pragma once

#include <csignal>
#include <pthread.h>

namespace acp::os {

// All signals but those that a faulty instruction or abort() raises.
inline sigset_t holdable_signals() noexcept {
    sigset_t mask;
    sigfillset(&mask);
    for (const int signal : {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT})
        sigdelset(&mask, signal);
    return mask;
}

class SignalHold {
public:
    SignalHold() noexcept {  // NOLINT(cppcoreguidelines-pro-type-member-init): the kernel fills before_
        const sigset_t mask = holdable_signals();
        pthread_sigmask(SIG_BLOCK, &mask, &before_);
    }

    ~SignalHold() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    SignalHold(const SignalHold&) = delete;
    SignalHold& operator=(const SignalHold&) = delete;

private:
    sigset_t before_;
};

}  // namespace acp::os
