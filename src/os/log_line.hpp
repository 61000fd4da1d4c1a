// SPDX-License-Identifier: BSD-3-Clause
// Writes one line so that lines of many processes do not mix. Any thread; allocates nothing, takes
// no lock, async-signal-safe.
#pragma once

#include <string_view>

namespace acp::os {

// Writes a line, with a newline added if it lacks one, by one system call (more only if the kernel
// takes a part). Failures are ignored, since there is no place left to report them. May block on a
// full pipe.
void write_line(int fd, std::string_view line) noexcept;

}  // namespace acp::os
