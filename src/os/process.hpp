// SPDX-License-Identifier: BSD-3-Clause
// Processes: the identity of this one, and watching another one's end without ever mistaking a
// reused pid for it. Knows nothing of ranks. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

// The pid of this process; correct in a forked child too.
[[nodiscard]] int own_pid() noexcept;

// The effective user of this process.
[[nodiscard]] unsigned own_user() noexcept;

// This machine's name for messages; "unknown-host" when it has none.
[[nodiscard]] std::string host_name();

// The base name of the running program; "unknown" without /proc.
[[nodiscard]] std::string executable_name();

// The environment as "NAME=VALUE" entries. Not while another thread calls setenv.
[[nodiscard]] std::vector<std::string> environment();

// Opens a descriptor of a process, close-on-exec, which never denotes another process.
//   pid  > 0
// Errors: peer (no such process), limit (descriptors used up), unsupported (kernel without pidfd),
// argument, system.
Result<FileDescriptor> open_process(int pid);

// true once the process has ended, also while it is a zombie. Does not block.
[[nodiscard]] bool has_exited(int pidfd) noexcept;

// Whether every thread of a process has begun to end or has been killed: the process runs no code
// of the program after that, though its files may still be open. nullopt without /proc, and when
// there is no such process.
[[nodiscard]] std::optional<bool> is_ending(int pid);

// Whether a thread of a process waits in a system call that no signal interrupts; true if /proc has
// no state of it. If this is false, a killed process ends as soon as it gets a CPU.
[[nodiscard]] bool is_uninterruptible(int pid);

// Whether every other thread of this process has begun to end, or is a thread of the library
// (os/thread.hpp), so that none of them runs code of the program again. false without /proc. Called
// by threads of the library that end in that case, in order not to keep the process alive.
[[nodiscard]] bool is_last_thread() noexcept;

// Whether a process is stopped, by a signal or a debugger; false without /proc.
[[nodiscard]] bool is_stopped(int pid);

// Makes fork() run the callback in every child from now on, before it returns there. Cannot be
// undone; the callback must be async-signal-safe. false when memory allocation fails.
bool call_in_forked_child(void (*callback)()) noexcept;

// Ends the process by SIGABRT; a handler of the program runs first. Writes the C library's buffer
// of standard output before, unless another thread is using the stream.
[[noreturn]] void end_by_abort() noexcept;

}  // namespace acp::os
