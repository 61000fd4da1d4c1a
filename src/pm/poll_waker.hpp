// SPDX-License-Identifier: BSD-3-Clause
// Makes a descriptor readable when the bell of the process is rung, so that a program can sleep in
// poll(2) on messages and on descriptors of its own: a thread sleeps on the bell in the program's
// place, and signals an event. Senders do not know of it. The caller announces on the bell and
// polls once more before arm(). The thread does not keep the process alive: after the end of the
// thread that made it, it checks whether all threads of the program have ended. A descriptor that
// the program has closed is neither read nor closed, since its number may belong to another file.
// For the context's thread. Tests: tests/unit/pm/poll_waker_test.cpp, tests/life.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "node/segment.hpp"
#include "os/event.hpp"
#include "os/thread.hpp"
#include "os/thread_exit.hpp"
#include "sync/bell.hpp"

namespace acp::pm {

class PollWaker {
public:
    static constexpr std::int64_t as_sleepers = 0;

    // Errors: limit, memory, system.
    //   bell               of this process
    //   patience_ns        the longest sleep of the thread; as_sleepers: that of the library's
    //                      sleepers;
    //                      < 0: no limit
    //   segment, bell      must outlive this
    static base::Result<std::unique_ptr<PollWaker>> create(const node::Segment& segment,
                                                           sync::Bell<>& bell,
                                                           std::int64_t patience_ns = as_sleepers);
    // Ends the thread.
    ~PollWaker();
    PollWaker(const PollWaker&) = delete;
    PollWaker& operator=(const PollWaker&) = delete;

    // Readable from the first ring after the announcement, or from signal(), until disarm(). Also
    // after the longest sleep of a library's sleeper, in case a ring was lost.
    [[nodiscard]] int fd() const noexcept { return event_.fd(); }

    //   value  of Bell::announce(); a ring since then counts
    void arm(std::uint32_t value) noexcept;

    // From now on rings do not make the descriptor readable, except one that the thread has just
    // seen.
    void disarm() noexcept;

    void signal() noexcept { (void)event_.signal(); }

    // False: the program has closed the descriptor.
    [[nodiscard]] bool has_descriptor() const noexcept { return os::is_event(event_.fd()); }

private:
    static constexpr std::uint32_t armed_bit = 1;
    static constexpr std::int64_t look_first_ns = 1'000'000;

    PollWaker(const node::Segment& segment,
              sync::Bell<>& bell,
              std::int64_t patience_ns,
              os::Event event) noexcept;
    static void at_exit_of_maker(void* waker) noexcept;
    void rouse() noexcept;
    void run() noexcept;
    [[nodiscard]] std::int64_t patience_ns() const noexcept;
    [[nodiscard]] std::int64_t bounded(std::int64_t timeout_ns) noexcept;

    const node::Segment& segment_;
    sync::Bell<>& bell_;
    std::int64_t patience_ns_;
    os::Event event_;
    // armed_bit: armed; the other bits count changes. Writers: the context's thread; the waker's
    // thread, which only clears the bit, so that the context's thread may store without a
    // read-modify-write.
    std::atomic<std::uint32_t> task_{0};
    // The bell's word on which to sleep; writer: the context's thread.
    std::atomic<std::uint32_t> value_{0};
    std::atomic<bool> is_ending_{false};
    std::atomic<bool> has_maker_ended_{false};
    // Pause before the next check for other threads; used by the waker's thread.
    std::int64_t look_ns_ = look_first_ns;
    int pid_;  // a forked child has no such thread
    // Of the thread that made this; not open if the process has no more keys.
    os::ThreadExit maker_exit_;
    os::Thread thread_;
};

}  // namespace acp::pm
