// SPDX-License-Identifier: BSD-3-Clause
// The frame around the main of every tool. An exception that the tool does not catch, above all
// refused memory, becomes one line on standard error and the tool's exit code, and ends the
// processes that the tool has started. Knows no tool. Main thread; what it prepares holds for all
// threads of the process.
#pragma once

namespace acp::tool {

// A tool's main.
using Body = int (*)(int argc, char** argv);

struct Guard {
    const char* tool;  // its name, with which messages begin; lives as long as the process
    // exit code of the process when memory is refused, or anything else is thrown
    int failure_code;
};

// EX_IOERR of sysexits: standard output could not be written
inline constexpr int exit_output = 74;

// Flushes standard output and says so if that or an earlier write has failed. Returns `code`, or
// exit_output where that is 0. For a body that ends the process itself.
[[nodiscard]] int finish_output(int code) noexcept;

// Runs the body and returns finish_output(its exit code). If the body throws, prints the exception
// with the name of this host and, where memory was refused, the limits that bound it; then kills
// all children of this process, waits for them (10 s at most), and returns the guard's code. Where
// an exception ends no further than at another thread, or at a noexcept function, the process is
// ended there with the same line and code: its children then end because it is gone (acp-agent,
// acp-keeper).
[[nodiscard]] int run_guarded(const Guard& guard, Body body, int argc, char** argv) noexcept;

}  // namespace acp::tool
