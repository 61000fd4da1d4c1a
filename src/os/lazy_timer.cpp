// SPDX-License-Identifier: BSD-3-Clause
// The timer is a timerfd.
#include "os/lazy_timer.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <sys/timerfd.h>

#include "base/parse.hpp"
#include "os/system_error.hpp"

namespace acp::os {

base::Result<LazyTimer> LazyTimer::create() {
    FileDescriptor descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!descriptor.is_open()) return system_failure("timerfd_create", errno, "");
    return LazyTimer(std::move(descriptor));
}

// Several threads may set the timer at once, and their system calls may run in any order. So each
// thread loads fires_at_ again after its call, and repeats the call if the time has changed: the
// last call sets the time in fires_at_. A call after note_fired() may set a time that is no longer
// needed; the sleeper then wakes once in vain.
void LazyTimer::set(std::uint64_t at_ns) noexcept {
    std::uint64_t before = fires_at_.load(std::memory_order_relaxed);
    do {
        if (at_ns >= before) return;  // another thread has set an earlier time
        // seq_cst: see fire_by()
    } while (!fires_at_.compare_exchange_weak(before, at_ns, std::memory_order_seq_cst,
                                              std::memory_order_relaxed));
    while (at_ns != never) {
        const std::uint64_t set_ns = std::max<std::uint64_t>(at_ns, 1);  // 0 would stop the timer
        itimerspec wanted{};
        wanted.it_value.tv_sec = static_cast<time_t>(set_ns / base::nanoseconds_per_second);
        wanted.it_value.tv_nsec = static_cast<long>(set_ns % base::nanoseconds_per_second);
        (void)timerfd_settime(descriptor_.get(), TFD_TIMER_ABSTIME, &wanted, nullptr);
        const std::uint64_t now_wanted = fires_at_.load(std::memory_order_seq_cst);
        if (now_wanted == at_ns) return;
        at_ns = now_wanted;
    }
}

}  // namespace acp::os
