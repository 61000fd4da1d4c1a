// SPDX-License-Identifier: BSD-3-Clause
// What a thread waits for in Completion: that commands end, or something that a layer above looks for itself, such as a message,
// room in a ring, or the other members of a team.
//
// Whoever makes a condition true on memory of this node rings the process that waits: node::ring_bell on the waiter_bell of its
// door, after the change is visible. Deaths and losses ring it too, so a condition on another process also looks whether that
// one lives. One thread at a time uses a condition.
// Tests: tests/unit/gma/condition_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/awaited.hpp"
#include "os/futex.hpp"
#include "os/signal_gate.hpp"

namespace acp::gma {

// What a look at a condition has found.
enum class LookResult {
    nothing,
    progress,  // not yet all, but more than before: it is worth while to look on
    all        // the condition has come
};

class Condition {
public:
    Condition() = default;
    virtual ~Condition() = default;
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;

    // Looks. Called often, and once more after the thread has announced that it sleeps; cheap, and without a lock that
    // another thread may hold for long.
    virtual LookResult look() = 0;

    // The thread is about to sleep. Tells people, by the entry of its process, who waits for what; and asks whoever makes the
    // condition come to ring, where that one rings only if asked. look() is called once more afterwards.
    //   since_ns  os::now_ns() when the wait began to sleep
    virtual void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) = 0;

    // Sleeps until the bell's word is no longer `value`, or the time is over. A condition that may come without a ring wakes
    // now and then to look for itself, and returns as if woken when it has come.
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
