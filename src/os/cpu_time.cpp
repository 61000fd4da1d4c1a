// SPDX-License-Identifier: BSD-3-Clause
// The clock of the calling thread.
#include "os/cpu_time.hpp"

#include <ctime>

namespace acp::os {

std::uint64_t own_cpu_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace acp::os
