// SPDX-License-Identifier: BSD-3-Clause
// Checks of a small program for the edges of the library's life: a failed one is printed with the
// library's last error and counted, and the program continues. For programs that are not tests of
// GoogleTest. One thread.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <acp.h>

namespace acp::test {

// The number of failed checks of this process.
inline int wrong_count = 0;

inline void check(bool is_right, const std::string& what) {
    if (is_right) return;
    ++wrong_count;
    std::fprintf(stderr, "wrong: %s (error %d: %s)\n", what.c_str(), acp_errno(),
                 acp_error_message());
}

// Joins the job, or ends the process with 3 and the reason.
inline void join() {
    if (acp_init(nullptr, nullptr) != 0) {
        std::fprintf(stderr, "acp_init: error %d: %s\n", acp_errno(), acp_error_message());
        std::exit(3);
    }
}

}  // namespace acp::test
