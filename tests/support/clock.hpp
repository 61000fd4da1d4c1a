// SPDX-License-Identifier: BSD-3-Clause
// The machine's monotonic clock in nanoseconds, comparable between processes. Any thread.
#pragma once

#include <cstdint>
#include <time.h>

namespace acp::test {

[[nodiscard]] inline std::int64_t now_ns() noexcept {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

inline constexpr std::int64_t millisecond_ns = 1'000'000;
inline constexpr std::int64_t second_ns = 1'000'000'000;

}  // namespace acp::test
