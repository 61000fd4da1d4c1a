// SPDX-License-Identifier: BSD-3-Clause
// Uses pthread_sigmask, and ppoll, which sets a mask and checks for signals in one step.
#include "os/signal_gate.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>
#include <poll.h>

namespace acp::os {

namespace {

sigset_t& mask_in(unsigned char* place) noexcept {
    return *std::launder(reinterpret_cast<sigset_t*>(place));
}

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
    static_assert(sizeof(sigset_t) <= sizeof old_mask_ && alignof(sigset_t) <= 8);
    if (is_shut_) return;
    const sigset_t held = held_back();
    pthread_sigmask(SIG_BLOCK, &held, new (old_mask_) sigset_t);
    is_shut_ = true;
}

bool SignalGate::let_in() noexcept {
    if (!is_shut_) return false;
    constexpr timespec at_once{0, 0};
    const int outcome = ppoll(nullptr, 0, &at_once, &mask_in(old_mask_));
    return outcome < 0 && errno == EINTR;
}

void SignalGate::open() noexcept {
    if (!is_shut_) return;
    is_shut_ = false;
    pthread_sigmask(SIG_SETMASK, &mask_in(old_mask_), nullptr);
}

Wake SignalGate::wait(const std::atomic<std::uint32_t>& word,
                      std::uint32_t expected,
                      std::int64_t timeout_ns) noexcept {
    if (let_in()) return Wake::interrupted;
    open();
    const Wake wake = futex_wait(word, expected, timeout_ns);
    shut();
    return wake;
}

}  // namespace acp::os
