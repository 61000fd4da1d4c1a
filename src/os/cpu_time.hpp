// SPDX-License-Identifier: BSD-3-Clause
// The CPU time of the calling thread. Any thread.
#pragma once

#include <cstdint>

namespace acp::os {

// Nanoseconds of CPU that the calling thread has used since it began. A system call.
[[nodiscard]] std::uint64_t own_cpu_ns() noexcept;

}  // namespace acp::os
