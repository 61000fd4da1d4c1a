// SPDX-License-Identifier: BSD-3-Clause
// The end of a test process that the system refuses memory or files for the test itself.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace acp::test {

// Prints `what` with the text of errno, and ends the process with 2.
[[noreturn]] inline void end_by_errno(const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(2);
}

}  // namespace acp::test
