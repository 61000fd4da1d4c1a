// SPDX-License-Identifier: BSD-3-Clause
// Making the CPU finish what it has begun before it begins anything else: for measuring one operation at
// a time, where else several would overlap. Orders nothing between threads. Any thread.
#pragma once

namespace acp::os {

// Later instructions do not start before all earlier ones are done. 5 .. 30 ns.
inline void serialise() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    asm volatile("dsb ish\n\tisb" ::: "memory");
#endif
}

}  // namespace acp::os
