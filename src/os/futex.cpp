// SPDX-License-Identifier: BSD-3-Clause
// The futex system call, shared between processes (no FUTEX_PRIVATE_FLAG).
#include "os/futex.hpp"

#include <cerrno>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace acp::os {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4, "the kernel reads the word itself");

Wake futex_wait(const std::atomic<std::uint32_t>& word,
                std::uint32_t expected,
                std::int64_t timeout_ns) noexcept {
    timespec timeout{};
    if (timeout_ns >= 0) {
        timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
        timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
    }
    const long outcome = syscall(SYS_futex, &word, FUTEX_WAIT, expected,
                                 timeout_ns >= 0 ? &timeout : nullptr, nullptr, 0);
    if (outcome == 0) return Wake::woken;
    switch (errno) {
        case ETIMEDOUT:
            return Wake::timeout;
        case EINTR:
            return Wake::interrupted;
        default:
            return Wake::changed;  // EAGAIN
    }
}

int futex_wake(std::atomic<std::uint32_t>& word, int count) noexcept {
    const long woken = syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
    return woken < 0 ? 0 : static_cast<int>(woken);
}

}  // namespace acp::os
