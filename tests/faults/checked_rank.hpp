// SPDX-License-Identifier: BSD-3-Clause
// The frame of a program whose every call is checked while other ranks and nodes die: a check that
// fails ends the rank at once with code 3 and a line on stderr, and a rank that reaches its end
// prints "done", for which the driver looks. Main thread.
#pragma once

#include <cstdio>

#include <acp.h>

#include "support/rank_check.hpp"
#include "support/watchdog.hpp"

namespace acp::test {

// Joins the job, calls work() and leaves the job. Returns the exit code.
//   what  the subject, for the watchdog of 60 seconds
template <typename Work>
int run_checked(int argc, char** argv, const char* what, const Work& work) {
    arm_watchdog(60, what);
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return 1;
    }
    work();
    std::printf("done\n");
    std::fflush(stdout);
    (void)acp_finalize();
    return 0;
}

}  // namespace acp::test
