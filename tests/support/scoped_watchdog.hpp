// SPDX-License-Identifier: BSD-3-Clause
// The watchdog for one scope, for tests that hang when they fail. From the main thread; the tested
// code leaves SIGALRM alone. Forked children do not inherit it.
#pragma once

#include "support/watchdog.hpp"

namespace acp::test {

class ScopedWatchdog {
public:
    // what is printed when it bites; static text.
    explicit ScopedWatchdog(const char* what) noexcept { arm_watchdog(120, what); }

    ScopedWatchdog(const ScopedWatchdog&) = delete;
    ScopedWatchdog& operator=(const ScopedWatchdog&) = delete;

    ~ScopedWatchdog() { arm_watchdog(0, ""); }
};

}  // namespace acp::test
