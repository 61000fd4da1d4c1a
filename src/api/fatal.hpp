// SPDX-License-Identifier: BSD-3-Clause
// The end of a process that an error of ACP ends: the message, and a mark in the process's slot by which the agent knows
// that this was no crash. Any thread; does not return.
// Tests: tests/tools/acprun_library_test.py, tests/life.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace acp::api {

// "acp: rank 2 on host: MESSAGE", or "acp: MESSAGE" where the message names the rank and the host itself. A process that
// is no rank is named by its number.
[[nodiscard]] std::string fatal_line(std::string_view message);

// Prints the failure and how to get it as an error instead, and ends the process by SIGABRT.
[[noreturn]] void end_by_error(const char* message) noexcept;

// Who this process is, for such lines: "rank 2 on host"; "process 4711 on host" where it is no rank.
[[nodiscard]] std::string own_name();

// A failure of a collective call, with the call and who made it: "acp_sync by rank 2 on host: MESSAGE". ok stays ok.
[[nodiscard]] base::Status in_call(const char* call, base::Status status) noexcept;

// Marks that acp_abort, which has told why, ends the process. Nothing in a forked child.
void mark_abort() noexcept;

}  // namespace acp::api
