// SPDX-License-Identifier: BSD-3-Clause
// A condition for which a thread waits in Completion: the end of commands, or a state that a layer
// above polls itself, such as a message, room in a ring, or the arrival of the other members of a
// team.
//
// A thread that makes a condition true in memory of this node rings the waiting process:
// node::ring_bell on the waiter_bell of its door, after the change is visible. Deaths and losses
// ring it too, so a condition on another process also tests whether that process lives. One thread
// at a time uses a condition.
// Tests: tests/unit/gma/condition_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/awaited.hpp"
#include "os/futex.hpp"
#include "os/signal_gate.hpp"

namespace acp::gma {

// The result of a poll of a condition.
enum class LookResult {
    nothing,
    progress,  // not yet all, but more than before: polling on is worthwhile
    all        // the condition holds
};

class Condition {
public:
    Condition() = default;
    virtual ~Condition() = default;
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;

    // Polls the condition. Called often, and once more after the thread has announced that it
    // sleeps; cheap, and without a lock that another thread may hold for long.
    virtual LookResult look() = 0;

    // The thread is about to sleep. Describes the wait in the entry of its process
    // (node/awaited.hpp), and requests a ring from the process that will make the condition true,
    // where that one rings only on request. look() is called once more afterwards.
    //   since_ns  os::now_ns() when the wait began to sleep, in the first of its calls if it consists
    //             of several (gma/shown_wait.hpp)
    virtual void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) = 0;

    // Sleeps until the bell's word is no longer `value`, or the time is over. A condition that may
    // become true without a ring wakes now and then to poll, and returns as if woken when it holds.
    //   signals  of a wait that signal handlers end, else nullptr
    virtual os::Wake sleep_on(const std::atomic<std::uint32_t>& bell,
                              std::uint32_t value,
                              std::int64_t timeout_ns,
                              os::SignalGate* signals) {
        return signals != nullptr ? signals->wait(bell, value, timeout_ns)
                                  : os::futex_wait(bell, value, timeout_ns);
    }
};

}  // namespace acp::gma
