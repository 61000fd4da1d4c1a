// SPDX-License-Identifier: BSD-3-Clause
// Two clocks: CLOCK_MONOTONIC in ns, and the CPU's own counter, which is cheaper to read and has to
// be calibrated. Knows nothing of deadlines. Any thread.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace acp::os {

// Nanoseconds since a fixed moment; the same for all processes of the machine.
[[nodiscard]] std::uint64_t now_ns() noexcept;

// Reads the CPU's counter: a few ns; not serialising.
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
#error "ACP runs on x86-64 and aarch64 only"
#endif
}

// The counter's speed, > 0. The first call measures for up to 0.5 ms; later calls are one load.
[[nodiscard]] double ticks_per_ns() noexcept;

}  // namespace acp::os
