// SPDX-License-Identifier: BSD-3-Clause
// Checks of a program that runs as a rank: a failed one prints rank, check and the library's last
// message, and ends the process with code 3, which ends the job unless acprun continues after
// failures. For programs that are not tests of GoogleTest. Any thread.
#pragma once

#include <cstdio>
#include <string_view>
#include <unistd.h>

#include <acp.h>

namespace acp::test {

[[noreturn]] inline void give_up(std::string_view what) {
    std::fprintf(stderr, "rank %d: %.*s: %s\n", acp_rank(), static_cast<int>(what.size()),
                 what.data(), acp_error_message());
    std::fflush(stderr);
    _exit(3);
}

inline void must(bool is_so, std::string_view what) {
    if (!is_so) give_up(what);
}

}  // namespace acp::test
