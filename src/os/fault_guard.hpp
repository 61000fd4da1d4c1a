// SPDX-License-Identifier: BSD-3-Clause
// Calls code that may be wrong in a process of the library's own, and survives its faults: a
// SIGSEGV, SIGBUS, SIGFPE or SIGILL that the kernel raises for an instruction of the code ends the
// code alone. Locks and allocations of the code remain. Not for processes of users, who handle these
// signals themselves. Knows nothing of the code. One object per thread.
// Tests: tests/unit/os/fault_guard_test.cpp.
#pragma once

#include <memory>

#include "base/status.hpp"

namespace acp::os {

using base::Status;

class FaultGuard {
public:
    // For the calling thread: installs the handlers (once in the process), gives the thread a stack
    // for them, so that an overflow of its own is survived too, and unblocks the four signals.
    // Errors: memory, system.
    static base::Result<std::unique_ptr<FaultGuard>> create();

    ~FaultGuard();
    FaultGuard(const FaultGuard&) = delete;
    FaultGuard& operator=(const FaultGuard&) = delete;

    // Calls body(argument). Returns 0, or the number of the signal that ended it; then no destructor
    // of its frames has run. Other signals, and the four where another process sends them, have
    // their usual effect. If the body calls run(), a fault of the inner body ends that alone. The body
    // must not throw.
    [[nodiscard]] int run(void (*body)(void* argument) noexcept, void* argument) noexcept;

private:
    struct Stack;

    explicit FaultGuard(std::unique_ptr<Stack> stack) noexcept;

    std::unique_ptr<Stack> stack_;
};

}  // namespace acp::os
