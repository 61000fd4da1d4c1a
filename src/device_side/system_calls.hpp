// SPDX-License-Identifier: BSD-3-Clause
// Who makes the system calls of the calling thread: a carrier that the process has set for it, or
// else the kernel of the process itself. In a child that the thread forks the kernel of the child
// makes them. Any thread, also in signal handlers, but for set_carrier().
// Tests: tests/unit/device_side/system_calls_test.cpp.
#pragma once

#include <cstdint>

#include "call/system_call_record.hpp"

namespace acp::device_side {

// Makes a system call; returns its result, or a negative errno.
using Carry = std::int64_t (*)(void* carrier,
                               call::SystemCall call,
                               const call::SystemCallWords& words) noexcept;

// For the calling thread, from now on.
//   carry    nullptr: the kernel of the process
//   carrier  given to carry; lives as long as the thread, or until the next call of this function
void set_carrier(Carry carry, void* carrier) noexcept;

// Makes a system call of the calling thread. Returns its result, or a negative errno; errno is
// unchanged. Blocks as long as the call does.
[[nodiscard]] std::int64_t make_call(call::SystemCall call,
                                     const call::SystemCallWords& words) noexcept;

// Does the same for a call by its number of this machine's Linux. Calls that create a process or a thread fail with
// ENOSYS: the child would begin inside this library.
[[nodiscard]] std::int64_t make_call_by_number(std::int64_t number,
                                               const call::SystemCallWords& words) noexcept;

}  // namespace acp::device_side
