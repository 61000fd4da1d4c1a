// SPDX-License-Identifier: BSD-3-Clause
// Keeps pthread_cancel() from ending the calling thread while this object lives. A cancelled thread is unwound at its next
// system call, which must not happen while it drives the library or holds what other threads wait for. The cancellation takes
// effect at the thread's first cancellation point afterwards. Tests: tests/life/calls_test.cpp.
#pragma once

#include <pthread.h>

namespace acp::os {

class CancellationHold {
public:
    CancellationHold() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }

    ~CancellationHold() { pthread_setcancelstate(before_, nullptr); }

    CancellationHold(const CancellationHold&) = delete;
    CancellationHold& operator=(const CancellationHold&) = delete;

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace acp::os
