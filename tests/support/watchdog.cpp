// SPDX-License-Identifier: BSD-3-Clause
// The watchdog over SIGALRM. The handler only writes and exits, which a signal handler may do in
// whatever state the process hangs.
#include "support/watchdog.hpp"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace acp::test {
namespace {

// Text for the handler, written by arm_watchdog before the alarm can ring.
char bite_text[512];
std::size_t bite_bytes = 0;

extern "C" void acp_test_bite(int) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, bite_text, bite_bytes);
    _exit(watchdog_exit_code);
}

}  // namespace

void arm_watchdog(unsigned seconds, const char* what) noexcept {
    alarm(0);
    if (seconds == 0) {
        return;
    }
    const int length = std::snprintf(bite_text, sizeof bite_text,
                                     "watchdog: process %d is stuck after %u s in: %s\n",
                                     static_cast<int>(getpid()), seconds, what);
    bite_bytes = length < 0 ? 0 : std::strlen(bite_text);
    struct sigaction action = {};
    action.sa_handler = acp_test_bite;
    sigaction(SIGALRM, &action, nullptr);
    alarm(seconds);
}

}  // namespace acp::test
