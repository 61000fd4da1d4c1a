// SPDX-License-Identifier: BSD-3-Clause
// Sleeps on an event and a timer, and on other descriptors too while they are armed. Any thread may
// arm them, also while another thread sleeps: that thread wakes if one of them is readable. Waking
// the sleeper disarms them. Arming is one system call (0.4 us) and causes no needless wake. But the
// kernel notes each datagram for all sets that contain its socket, armed or not (0.3 us): call
// forget() if the descriptors are not to be armed soon. One thread calls wait(), any thread
// signal() and wake_by(), and one at a time the other calls.
// Tests: tests/unit/os/armed_wait_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "os/event.hpp"
#include "os/lazy_timer.hpp"
#include "os/poll_set.hpp"

namespace acp::os {

class ArmedWait {
public:
    // What ended a sleep: an armed descriptor, which is disarmed then; the timer, perhaps earlier
    // than any wake_by() requires; or signal().
    enum class End { descriptor, timer, signal };

    //   fds  watched for reading while they are armed; must stay open as long as this lives. They
    //        start disarmed.
    // Errors: limit (descriptors used up), system.
    static Result<ArmedWait> create(std::span<const int> fds);

    // From now on a readable descriptor wakes the sleeper once. Has no effect if they are armed
    // already. If they were forgotten and the kernel has no memory to watch them again, the sleeper
    // wakes at once, and must read the descriptors itself.
    void arm() noexcept;

    // From now on the descriptors wake no thread.
    void disarm() noexcept;

    // Until the next arm() the kernel does not note datagrams for this set; that arm() takes a
    // microsecond longer for each descriptor. The descriptors must be disarmed.
    void forget() noexcept;

    // Wakes the sleeping thread, or ends the next sleep.
    void signal() noexcept { event_.signal(); }

    // Makes the timer end the sleep at this time or earlier; if no thread sleeps, the next sleep.
    //   at_ns  of os::now_ns()
    void wake_by(std::uint64_t at_ns) noexcept { timer_.fire_by(at_ns); }

    // Sleeps until signal(), until an armed descriptor is readable, or until the timer fires, which
    // is then no longer set. Blocks. After a second it returns as if signalled, because the program
    // may have closed the descriptors that it sleeps on. If other threads store a time before they
    // call wake_by() with it, then after this call either the caller sees that time, or wake_by()
    // sets the timer again (both sides are seq_cst).
    End wait() noexcept;

private:
    ArmedWait(std::span<const int> fds, Event event, LazyTimer timer, PollSet watched, PollSet all)
        : fds_(fds.begin(), fds.end()),
          event_(std::move(event)),
          timer_(std::move(timer)),
          watched_(std::move(watched)),
          all_(std::move(all)) {}

    void watch() noexcept;

    std::vector<int> fds_;
    bool is_watching_ = true;
    Event event_;
    LazyTimer timer_;
    PollSet watched_;  // the descriptors, unless forgotten
    PollSet all_;      // the event, the timer, and watched_ while it is armed
};

}  // namespace acp::os
