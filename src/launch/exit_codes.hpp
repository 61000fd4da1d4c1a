// SPDX-License-Identifier: BSD-3-Clause
// The exit codes of the launcher and its agent, besides those of the ranks. They are those of
// <sysexits.h> and of the shell, where these define one. Constants only.
#pragma once

namespace acp::launch {

inline constexpr int exit_usage = 64;        // a command line that does not parse
inline constexpr int exit_unavailable = 69;  // the system does not grant what the job needs
inline constexpr int exit_output = 74;       // output could not be written
inline constexpr int exit_config = 78;       // an ACP_* variable that does not parse
inline constexpr int exit_timeout = 124;     // timeout(1) returns the same
inline constexpr int exit_not_runnable = 126;
inline constexpr int exit_not_found = 127;
inline constexpr int exit_signal_base = 128;  // + the number of the signal
inline constexpr int exit_unfinished = 1;     // a rank ended with 0 without acp_finalize

}  // namespace acp::launch
