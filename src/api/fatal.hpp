// SPDX-License-Identifier: BSD-3-Clause
// Ends a process because of an error of ACP: prints the message, and marks the process's slot so
// that the agent does not report a crash. Any thread; does not return.
// Tests: tests/unit/api/fatal_test.cpp, tests/tools/acprun_library_test.py, tests/life.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace acp::api {

// "acp: rank 2 on host: MESSAGE", or "acp: MESSAGE" where the message names the rank and the host
// itself. A process that is no rank is named by its number.
[[nodiscard]] std::string fatal_line(std::string_view message);

// Prints the failure and how to get it as an error instead, and ends the process by SIGABRT.
[[noreturn]] void end_by_error(const char* message) noexcept;

// This process's name for such lines: "rank 2 on host"; "process 4711 on host" if it is no rank.
[[nodiscard]] std::string own_name();

// A failure of a collective call, with the call and the rank: "acp_sync by rank 2 on host:
// MESSAGE". ok stays ok.
[[nodiscard]] base::Status in_call(const char* call, base::Status status) noexcept;

// Marks that acp_abort, which has printed the reason, ends the process. Does nothing in a forked
// child.
void mark_abort() noexcept;

}  // namespace acp::api
