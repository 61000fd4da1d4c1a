// SPDX-License-Identifier: BSD-3-Clause
// Sleeping on an event, and on other descriptors as well while they are armed. Any thread may arm them, also while
// another one sleeps: it is woken then if one of them is readable. What wakes the sleeper disarms them. Arming is one
// system call that wakes nobody for nothing, 0.5 us. wait() by one thread, the others by any.
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
    //   fds  watched while they are armed, for reading; must stay open as long as this lives. At first they are not armed.
    // Errors: limit (descriptors used up), system.
    static Result<ArmedWait> create(std::span<const int> fds);

    // From now on the sleeper is woken once when a descriptor is readable. Nothing changes when they are armed already.
    void arm() noexcept;

    // From now on the descriptors wake nobody.
    void disarm() noexcept;

    // Wakes the sleeper, or the next one.
    void signal() noexcept { event_.signal(); }

    // Sleeps until a signal, until an armed descriptor is readable, or the timeout (< 0: for ever). True when it was a
    // descriptor: they are disarmed then. Blocks.
    bool wait(std::int64_t timeout_ns) noexcept;

private:
    ArmedWait(Event event, PollSet fds, PollSet both) noexcept
        : event_(std::move(event)), fds_(std::move(fds)), both_(std::move(both)) {}

    Event event_;
    PollSet fds_;   // the descriptors
    PollSet both_;  // the event, and the set of the descriptors while it is armed
};

}  // namespace acp::os
