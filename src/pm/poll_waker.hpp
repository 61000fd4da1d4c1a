// SPDX-License-Identifier: BSD-3-Clause
// Makes a descriptor readable when the bell of the process is rung, so that a program can sleep in poll(2) on messages and on descriptors of
// its own at once: a thread sleeps on the bell in the program's place and signals an event. Senders know nothing of it. The bell is announced and
// the last look made by the caller, between announcement and arm(). For the context's thread. Tests: tests/unit/pm/poll_waker_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "node/segment.hpp"
#include "os/event.hpp"
#include "os/thread.hpp"
#include "sync/bell.hpp"

namespace acp::pm {

class PollWaker {
public:
    //   bell     of this process
    //   both outlive this
    // Errors: limit, memory, system.
    static base::Result<std::unique_ptr<PollWaker>> create(const node::Segment& segment,
                                                           sync::Bell<>& bell);
    // Ends the thread.
    ~PollWaker();
    PollWaker(const PollWaker&) = delete;
    PollWaker& operator=(const PollWaker&) = delete;

    // Readable from the first ring after the announcement on, or signal(), until disarm(); and after as long a time as a sleeper of the library
    // sleeps at most, in case something was lost that should have rung.
    [[nodiscard]] int fd() const noexcept { return event_.fd(); }

    //   value  of Bell::announce(); a ring since then counts
    void arm(std::uint32_t value) noexcept;

    // From now on rings do not make the descriptor readable, but for one of which the thread has just learned.
    void disarm() noexcept;

    void signal() noexcept { (void)event_.signal(); }

private:
    static constexpr std::uint32_t armed_bit = 1;

    PollWaker(const node::Segment& segment, sync::Bell<>& bell, os::Event event) noexcept;
    void run() noexcept;

    const node::Segment& segment_;
    sync::Bell<>& bell_;
    os::Event event_;
    // The bit says whether it is armed, the rest counts changes. Writers: the context's thread; the waker's own, which clears the bit and
    // nothing else, so that the other one may store without looking.
    std::atomic<std::uint32_t> task_{0};
    std::atomic<std::uint32_t> value_{
        0};  // of the bell, on which to sleep; writer: the context's thread
    std::atomic<bool> is_ending_{false};
    os::Thread thread_;
};

}  // namespace acp::pm
