// SPDX-License-Identifier: BSD-3-Clause
// Lets a polling thread notice that a signal handler ran: while the gate is shut signals stay
// pending, and let_in() returns whether a handler ran. SIGABRT and the signals that a faulty
// instruction raises are not blocked. While the gate is shut another thread of the process may take
// a signal that was sent to the process. Belongs to one thread, whose mask the destructor restores.
// Tests: tests/unit/os/signal_gate_test.cpp.
#pragma once

#include <csignal>
#include <memory>

#include "os/futex.hpp"
#include "os/masked_futex.hpp"

namespace acp::os {

class SignalGate {
public:
    //   sleepers  the pool for wait(), which outlives this; nullptr: wait() may miss a handler
    explicit SignalGate(MaskedFutexes* sleepers = nullptr) noexcept : sleepers_(sleepers) {}

    SignalGate(const SignalGate&) = delete;
    SignalGate& operator=(const SignalGate&) = delete;

    // Opens the gate; the handlers of pending signals run.
    ~SignalGate() {
        if (sleepers_ != nullptr) sleepers_->give_back(std::move(sleeper_));
        open();
    }

    // Blocks signals: they stay pending. Has no effect when the gate is shut.
    void shut() noexcept;

    // Runs the handlers of pending signals and returns whether one ran; the gate stays shut. false
    // when it is open.
    [[nodiscard]] bool let_in() noexcept;

    void open() noexcept;

    // futex_wait() with the gate open during the sleep and shut afterwards. A handler that runs in
    // the sleep ends it. A signal that was pending before the sleep ends it too, and so does one
    // that arrives while another thread wakes this one. Without os/masked_futex.hpp in the kernel
    // the gate misses a handler that runs between the last check and the sleep, or at the end of
    // the sleep.
    Wake wait(const std::atomic<std::uint32_t>& word,
              std::uint32_t expected,
              std::int64_t timeout_ns) noexcept;

private:
    bool is_shut_ = false;
    sigset_t old_mask_{};  // valid only while shut
    MaskedFutexes* sleepers_;
    // nullptr before the first sleep, and if the pool has none
    std::unique_ptr<MaskedFutex> sleeper_;
};

}  // namespace acp::os
