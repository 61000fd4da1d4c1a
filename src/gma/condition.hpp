// SPDX-License-Identifier: BSD-3-Clause
// What a thread waits for in Completion: that commands end, or something that a layer above looks for itself, such as a message,
// room in a ring, or the other members of a team.
//
// Whoever makes a condition true on memory of this node rings the process that waits: node::ring_bell on the waiter_bell of its
// door, after the change is visible. Deaths and losses ring it too, so a condition on another process also looks whether that
// one lives. One thread at a time uses a condition.
// Tests: tests/unit/gma/condition_test.cpp.
#pragma once

#include <cstdint>

#include "node/awaited.hpp"

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
};

}  // namespace acp::gma
