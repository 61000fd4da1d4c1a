// SPDX-License-Identifier: BSD-3-Clause
// A full memory barrier on every CPU that runs a registered process, so that readers pay only a
// compiler barrier. Any thread.
#pragma once

namespace acp::os {

// Registers this process among those that the barrier reaches; once per process, before its first
// reader. exec ends the registration. false when the kernel refuses (seccomp, no membarrier):
// readers must then use a full barrier of their own.
[[nodiscard]] bool register_expedited() noexcept;

// Makes every thread of every registered process pass a full barrier between call and return. false
// when the kernel refuses; then nothing is ordered. 0.4 .. 10 us; does not sleep.
[[nodiscard]] bool expedite() noexcept;

}  // namespace acp::os
