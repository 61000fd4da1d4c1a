// SPDX-License-Identifier: BSD-3-Clause
// Keeps pthread_cancel() from ending the calling thread while this object lives. A cancelled thread
// is unwound at its next system call, which must not happen while it is the driver or holds a lock.
// The cancellation takes effect at the thread's first cancellation point afterwards.
// Tests: tests/unit/os/cancellation_test.cpp, tests/life/calls_test.cpp.
#pragma once

#include <pthread.h>

namespace acp::os {

class CancellationHold {
public:
    CancellationHold() noexcept : CancellationHold(true) {}

    //   is_needed  false: this object has no effect
    explicit CancellationHold(bool is_needed) noexcept {
        if (is_needed) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
    }

    ~CancellationHold() {
        if (before_ != not_held) pthread_setcancelstate(before_, nullptr);
    }

    CancellationHold(const CancellationHold&) = delete;
    CancellationHold& operator=(const CancellationHold&) = delete;

private:
    static constexpr int not_held = -1;
    static_assert(PTHREAD_CANCEL_ENABLE != not_held && PTHREAD_CANCEL_DISABLE != not_held);

    int before_ = not_held;
};

}  // namespace acp::os
