// SPDX-License-Identifier: BSD-3-Clause
// Sleeps on an event, and on other descriptors too while they are armed. Any thread may arm them, also while another thread
// sleeps: that thread is woken if one of them is readable. Waking the sleeper disarms them. Arming is one system call (0.5 us)
// and causes no needless wake. One thread calls wait(), any thread the other calls.
// Tests: tests/unit/os/armed_wait_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "os/event.hpp"
#include "os/poll_set.hpp"

namespace acp::os {

class ArmedWait {
public:
    //   fds  watched for reading while they are armed; must stay open as long as this lives. They start disarmed.
    // Errors: limit (descriptors used up), system.
    static Result<ArmedWait> create(std::span<const int> fds);

    // From now on a readable descriptor wakes the sleeper once. Has no effect if they are armed already.
    void arm() noexcept;

    // From now on the descriptors wake no thread.
    void disarm() noexcept;

    // Wakes the sleeping thread, or ends the next sleep.
    void signal() noexcept { event_.signal(); }

    // Sleeps until a signal, until an armed descriptor is readable, or until the timeout passes (< 0: none). True when a
    // descriptor ended the sleep: they are disarmed then. Blocks.
    bool wait(std::int64_t timeout_ns) noexcept;

private:
    ArmedWait(Event event, PollSet fds, PollSet both) noexcept
        : event_(std::move(event)), fds_(std::move(fds)), both_(std::move(both)) {}

    Event event_;
    PollSet fds_;   // the descriptors
    PollSet both_;  // the event, and fds_ while it is armed
};

}  // namespace acp::os
