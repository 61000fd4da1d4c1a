// SPDX-License-Identifier: BSD-3-Clause
// Ends a test that hangs: an alarm that prints what the process was doing and exits with 124. Knows
// nothing of ACP. The alarm belongs to the process; call from its main thread.
#pragma once

namespace acp::test {

inline constexpr int watchdog_exit_code = 124;

// (Re)starts the watchdog.
//   seconds  until it ends the process; 0 disarms
//   what     printed then; static or living as long as the watchdog is armed
void arm_watchdog(unsigned seconds, const char* what) noexcept;

}  // namespace acp::test
