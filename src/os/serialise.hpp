// SPDX-License-Identifier: BSD-3-Clause
// Makes the CPU finish earlier instructions before it begins later ones, to measure one operation
// at a time where several would overlap otherwise. Orders nothing between threads. Any thread.
#pragma once

namespace acp::os {

// Later instructions do not start before all earlier ones have finished. 5 .. 30 ns.
inline void serialise() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    asm volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

}  // namespace acp::os
