// SPDX-License-Identifier: BSD-3-Clause
// Writes messages so that lines of many processes do not mix. Any thread. write_line() allocates
// nothing, takes no lock and is async-signal-safe.
#pragma once

#include <string_view>

namespace acp::os {

// Writes a line, with a newline added if it lacks one, by one system call (more only if the kernel
// takes a part). Failures are ignored, since there is no place left to report them. May block on a
// full pipe.
void write_line(int fd, std::string_view line) noexcept;

// Prints to standard error as std::fprintf does. If that is a file which may grow no longer
// (RLIMIT_FSIZE), the message is lost, and no signal is raised. Not async-signal-safe.
[[gnu::format(printf, 1, 2)]] void print_error(const char* format, ...) noexcept;

}  // namespace acp::os
