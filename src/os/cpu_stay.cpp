// SPDX-License-Identifier: BSD-3-Clause
// Sets the affinity mask.
#include "os/cpu_stay.hpp"

#include "os/cpu.hpp"

namespace acp::os {

void CpuStay::begin(int nth_usable) noexcept {
    if (is_on_) return;
    is_on_ = true;
    is_known_ = sched_getaffinity(0, sizeof before_, &before_) == 0;
    if (is_known_) (void)pin_to_cpu(nth_usable);
}

void CpuStay::end() noexcept {
    if (!is_on_) return;
    is_on_ = false;
    if (is_known_) (void)sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace acp::os
