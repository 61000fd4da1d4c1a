// SPDX-License-Identifier: BSD-3-Clause
// Uses pthread_sigmask, and ppoll, which sets a mask and checks for signals in one step.
#include "os/signal_gate.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <poll.h>

namespace acp::os {

namespace {

sigset_t held_back() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
        sigdelset(&all, number);
    }
    return all;
}

}  // namespace

void SignalGate::shut() noexcept {
    if (is_shut_) return;
    const sigset_t held = held_back();
    pthread_sigmask(SIG_BLOCK, &held, &old_mask_);
    is_shut_ = true;
}

bool SignalGate::let_in() noexcept {
    if (!is_shut_) return false;
    constexpr timespec at_once{0, 0};
    const int outcome = ppoll(nullptr, 0, &at_once, &old_mask_);
    return outcome < 0 && errno == EINTR;
}

void SignalGate::open() noexcept {
    if (!is_shut_) return;
    is_shut_ = false;
    pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

Wake SignalGate::wait(const std::atomic<std::uint32_t>& word,
                      std::uint32_t expected,
                      std::int64_t timeout_ns) noexcept {
    if (is_shut_ && sleepers_ != nullptr) {
        if (sleeper_ == nullptr) sleeper_ = sleepers_->take();
        if (sleeper_ != nullptr && !sleeper_->is_broken()) {
            return sleeper_->wait(word, expected, timeout_ns, old_mask_);
        }
    }
    if (let_in()) return Wake::interrupted;
    open();
    const Wake wake = futex_wait(word, expected, timeout_ns);
    shut();
    return wake;
}

}  // namespace acp::os
