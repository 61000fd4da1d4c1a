// SPDX-License-Identifier: BSD-3-Clause
// Keeps a thread on one of its CPUs for a while, and then restores its affinity. If the kernel
// refuses, or the machine has more CPUs than a cpu_set_t holds, begin() only notes it, and end()
// restores nothing. Used by that thread alone.
// Tests: tests/unit/os/cpu_stay_test.cpp.
#pragma once

#include <sched.h>

namespace acp::os {

class CpuStay {
public:
    //   nth_usable   >= 0; a CPU of the thread's affinity mask, modulo their count
    void begin(int nth_usable) noexcept;
    void end() noexcept;

    [[nodiscard]] bool is_on() const noexcept { return is_on_; }

private:
    cpu_set_t before_{};
    bool is_on_ = false;
    bool is_known_ = false;  // before_ is valid
};

}  // namespace acp::os
