// SPDX-License-Identifier: BSD-3-Clause
// Lets a polling thread notice that a signal handler ran: while the gate is shut signals stay pending, and let_in() tells
// whether a handler ran. SIGABRT and the signals that a faulty instruction raises are never held back. A signal sent to the
// process may meanwhile be taken by another of its threads. Belongs to one thread, whose mask the destructor restores. Tests:
// tests/unit/os/signal_gate_test.cpp.
#pragma once

#include <csignal>
#include <memory>

#include "os/futex.hpp"
#include "os/masked_futex.hpp"

namespace acp::os {

class SignalGate {
public:
    //   sleepers  what wait() sleeps on, outlives this; nullptr: wait() may miss a handler
    explicit SignalGate(MaskedFutexes* sleepers = nullptr) noexcept : sleepers_(sleepers) {}

    SignalGate(const SignalGate&) = delete;
    SignalGate& operator=(const SignalGate&) = delete;

    // Opens the gate; the handlers of pending signals run.
    ~SignalGate() {
        if (sleepers_ != nullptr) sleepers_->give_back(std::move(sleeper_));
        open();
    }

    // From here on signals stay pending. Has no effect when the gate is shut.
    void shut() noexcept;

    // Runs the handlers of pending signals and tells whether one ran; the gate stays shut. false when it is open.
    [[nodiscard]] bool let_in() noexcept;

    void open() noexcept;

    // Sleeps as futex_wait() does, with the gate open meanwhile and shut afterwards. A handler that runs in the sleep ends it, and a
    // signal that was pending before, or comes as another thread wakes this one, is not lost. Where the kernel has no sleep that takes a mask
    // (os/masked_futex.hpp) a handler goes unnoticed that runs between the last check and the sleep, or as the sleep ends.
    Wake wait(const std::atomic<std::uint32_t>& word,
              std::uint32_t expected,
              std::int64_t timeout_ns) noexcept;

private:
    bool is_shut_ = false;
    sigset_t old_mask_{};  // valid only while shut
    MaskedFutexes* sleepers_;
    std::unique_ptr<MaskedFutex>
        sleeper_;  // nullptr before the first sleep, and where there is none
};

}  // namespace acp::os
