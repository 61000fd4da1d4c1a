// SPDX-License-Identifier: BSD-3-Clause
// Hands the system calls that code of the program makes, by whatever instruction, to a function of the
// library: the kernel raises SIGSYS for each (user dispatch, Linux 5.11, x86-64). Knows no call but
// those that the handler of a signal cannot make for the code that it interrupts. Threads that the
// code creates, its children and programs that it runs make their calls themselves. The code must
// leave SIGSYS alone.
// Tests: tests/unit/os/system_call_dispatch_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "base/status.hpp"
#include "os/kernel_features.hpp"

namespace acp::os {

using base::Status;

// Makes a call; returns its result, or a negative errno. Runs in the signal handler, in which calls
// are not dispatched. The kernel makes those that it does not handle itself.
using DispatchedCall = std::int64_t (*)(std::int64_t number,
                                        const std::array<std::uint64_t, 6>& words) noexcept;

// 0: the machine has it; ENOSYS: another architecture; else the errno of the kernel's refusal.
[[nodiscard]] Refusal probe_system_call_dispatch() noexcept;

// Prepares the calling thread, whose calls are made as before until dispatch_system_calls().
//   handle  one for the process
// Errors: unsupported (the sentence says what is missing), system.
Status prepare_system_call_dispatch(DispatchedCall handle);

// Whether calls of the calling thread are dispatched from now on, if it was prepared.
void dispatch_system_calls(bool is_on) noexcept;

}  // namespace acp::os
