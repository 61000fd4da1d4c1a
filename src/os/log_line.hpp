// SPDX-License-Identifier: BSD-3-Clause
// Writing one line so that lines of many processes do not mix. Knows nothing of what it says. Any
// thread; allocates nothing, takes no lock, async-signal-safe.
#pragma once

#include <string_view>

namespace acp::os {

// Writes line, with a newline added where it lacks one, by one system call (more only if the kernel
// takes a part). Failures are ignored: there is nobody left to tell. May block on a full pipe.
void write_line(int fd, std::string_view line) noexcept;

}  // namespace acp::os
