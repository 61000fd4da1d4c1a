// SPDX-License-Identifier: BSD-3-Clause
// Lets a thread that looks again and again notice that a signal handler ran: while the gate is shut signals stay
// pending, and letting them in says whether a handler ran. Signals that a faulty access raises are never held back,
// nor is SIGABRT. A signal sent to the process may meanwhile be taken by another of its threads. Belongs to one thread,
// which restores its mask at the end of the scope. Tests: tests/unit/os/signal_gate_test.cpp.
#pragma once

#include "os/futex.hpp"

namespace acp::os {

class SignalGate {
public:
    SignalGate() noexcept = default;
    SignalGate(const SignalGate&) = delete;
    SignalGate& operator=(const SignalGate&) = delete;

    // Opens the gate; handlers of what is pending run.
    ~SignalGate() { open(); }

    // From here on signals wait. Nothing when the gate is shut.
    void shut() noexcept;

    // Runs the handlers of what is pending and tells whether one ran; the gate stays shut. false when it is open.
    [[nodiscard]] bool let_in() noexcept;

    void open() noexcept;

    // futex_wait() with the gate open, and shut afterwards. Handlers of what was pending before count as an interruption.
    // One that runs between the last look and the sleep, a fraction of a microsecond, goes unnoticed, as with any call
    // that returns EINTR.
    Wake wait(const std::atomic<std::uint32_t>& word,
              std::uint32_t expected,
              std::int64_t timeout_ns) noexcept;

private:
    bool is_shut_ = false;
    alignas(8) unsigned char old_mask_[128] = {};  // a sigset_t; only while shut
};

}  // namespace acp::os
