// SPDX-License-Identifier: BSD-3-Clause
// Processes: who this one is, and watching another one die without ever mistaking a reused pid for
// it. Knows nothing of ranks. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

// This process; right in a forked child too.
[[nodiscard]] int own_pid() noexcept;

// This machine's name for messages; "unknown-host" when it has none.
[[nodiscard]] std::string host_name();

// The base name of the running program; "unknown" when /proc does not tell.
[[nodiscard]] std::string executable_name();

// The environment as "NAME=VALUE" entries. Not while another thread calls setenv.
[[nodiscard]] std::vector<std::string> environment();

// A descriptor of a process, close-on-exec, that never names another one.
//   pid  > 0
// Errors: peer (no such process), limit (descriptors used up), unsupported (kernel without pidfd),
// argument, system.
Result<FileDescriptor> open_process(int pid);

// true from the process's end on, also while it is still a zombie. Does not block.
[[nodiscard]] bool has_exited(int pidfd) noexcept;

// Whether every thread of a process has begun to end or has been killed: it will run nothing of the program any more,
// though its files may still be open. nullopt where /proc does not tell, and when there is no such process.
[[nodiscard]] std::optional<bool> is_ending(int pid);

// Whether a process is stopped, by a signal or a debugger; false where /proc does not tell.
[[nodiscard]] bool is_stopped(int pid);

// Runs callback in every child made by fork() from now on, before fork returns there. Cannot be
// undone; the callback may only do what is async-signal-safe. false when memory is short.
bool call_in_forked_child(void (*callback)()) noexcept;

// Ends the process by SIGABRT; a handler of the user's runs first.
[[noreturn]] void end_by_abort() noexcept;

}  // namespace acp::os
