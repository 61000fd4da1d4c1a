// SPDX-License-Identifier: BSD-3-Clause
// The end of a process that an error of ACP ends: the message, and a mark in the process's slot by which the agent knows
// that this was no crash. Any thread; does not return.
#pragma once

#include <string>

#include "base/status.hpp"

namespace acp::api {

// "acp: rank 2 on host: MESSAGE", or "acp: MESSAGE" where the message names the rank and the host itself.
[[nodiscard]] std::string fatal_line(const base::Status& failure);

// Prints the failure and how to get it as an error instead, and ends the process by SIGABRT.
[[noreturn]] void end_by_error(const base::Status& failure) noexcept;

// Marks that acp_abort, which has told why, ends the process. Nothing before acp_init.
void mark_abort() noexcept;

}  // namespace acp::api
