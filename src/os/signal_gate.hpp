// SPDX-License-Identifier: BSD-3-Clause
// Lets a polling thread notice that a signal handler ran: while the gate is shut signals stay pending, and let_in() tells
// whether a handler ran. SIGABRT and the signals that a faulty instruction raises are never held back. A signal sent to the
// process may meanwhile be taken by another of its threads. Belongs to one thread, whose mask the destructor restores. Tests:
// tests/unit/os/signal_gate_test.cpp.
#pragma once

#include "os/futex.hpp"

namespace acp::os {

class SignalGate {
public:
    SignalGate() noexcept = default;
    SignalGate(const SignalGate&) = delete;
    SignalGate& operator=(const SignalGate&) = delete;

    // Opens the gate; the handlers of pending signals run.
    ~SignalGate() { open(); }

    // From here on signals stay pending. Has no effect when the gate is shut.
    void shut() noexcept;

    // Runs the handlers of pending signals and tells whether one ran; the gate stays shut. false when it is open.
    [[nodiscard]] bool let_in() noexcept;

    void open() noexcept;

    // Calls futex_wait() with the gate open, and shuts it afterwards. A handler of a signal that was pending before counts as
    // an interruption. A handler that runs between the last check and the sleep, a fraction of a microsecond, goes unnoticed,
    // as with any call that returns EINTR.
    Wake wait(const std::atomic<std::uint32_t>& word,
              std::uint32_t expected,
              std::int64_t timeout_ns) noexcept;

private:
    bool is_shut_ = false;
    alignas(8) unsigned char old_mask_[128] = {};  // a sigset_t; valid only while shut
};

}  // namespace acp::os
