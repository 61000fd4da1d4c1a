// SPDX-License-Identifier: BSD-3-Clause
// Makes a descriptor readable when the bell of the process is rung, so that a program can sleep in poll(2) on messages and on descriptors of
// its own at once: a thread sleeps on the bell in the program's place and signals an event. Senders know nothing of it. The bell is announced and
// the last look made by the caller, between announcement and arm(). The thread does not keep the process alive: from the end of the thread that made
// it on it looks whether all threads of the program have ended. A descriptor that the program has closed is neither read nor closed, since its number
// may be another file's. For the context's thread. Tests: tests/unit/pm/poll_waker_test.cpp, tests/life.
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

    //   bell         of this process
    //   patience_ns  how long the thread sleeps at most; as_sleepers: as long as those of the library; < 0: for ever
    //   both outlive this
    // Errors: limit, memory, system.
    static base::Result<std::unique_ptr<PollWaker>> create(const node::Segment& segment,
                                                           sync::Bell<>& bell,
                                                           std::int64_t patience_ns = as_sleepers);
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

    // false: the program has closed the descriptor.
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
    // The bit says whether it is armed, the rest counts changes. Writers: the context's thread; the waker's own, which clears the bit and
    // nothing else, so that the other one may store without looking.
    std::atomic<std::uint32_t> task_{0};
    std::atomic<std::uint32_t> value_{
        0};  // of the bell, on which to sleep; writer: the context's thread
    std::atomic<bool> is_ending_{false};
    std::atomic<bool> has_maker_ended_{false};
    std::int64_t look_ns_ =
        look_first_ns;  // after so long it looks next whether it is alone; of the waker's thread
    int pid_;           // in a forked child there is no thread
    os::ThreadExit
        maker_exit_;  // of the thread that made this; not open where the process has no more keys
    os::Thread thread_;
};

}  // namespace acp::pm
