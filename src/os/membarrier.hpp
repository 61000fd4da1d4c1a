// SPDX-License-Identifier: BSD-3-Clause
// A full memory barrier on every CPU that runs a registered process, so that readers pay only a
// compiler barrier. Knows nothing of what is ordered. Any thread.
#pragma once

namespace acp::os {

// Enters this process among those the barrier reaches; once per process, before its first reader.
// Not inherited over exec. false when the kernel refuses (seccomp, no membarrier): readers must then
// use a full barrier of their own.
[[nodiscard]] bool register_expedited() noexcept;

// Every thread of every registered process has passed a full barrier between call and return.
// false when the kernel refuses; then nothing is ordered. 0.4 .. 10 us; does not sleep.
[[nodiscard]] bool expedite() noexcept;

}  // namespace acp::os
