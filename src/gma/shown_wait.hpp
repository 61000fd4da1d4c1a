// SPDX-License-Identifier: BSD-3-Clause
// One wait of a thread that consists of several calls of Gma::wait_until(), because the thread does
// something between two of them: it asks the node of a lock, or compares the call of a member. The
// process's slot shows it as one wait, from the first sleep until this object ends, also between
// the calls: a watcher (ACP_HANG_TIMEOUT) that reads the slot at that moment would else find no
// wait. For one thread. Tests: tests/unit/gma/condition_test.cpp.
#pragma once

#include <cstdint>

#include "gma/condition.hpp"
#include "local/space.hpp"
#include "node/awaited.hpp"
#include "os/clock.hpp"

namespace acp::gma {

class ShownWait {
public:
    //   slot  of the waiting process; must outlive this
    explicit ShownWait(node::Slot& slot) noexcept : entry_(slot) {}

    //   space  of the waiting process; its segment must outlive this
    explicit ShownWait(const local::Space& space) noexcept
        : ShownWait(space.segment().slot(space.slot())) {}

    // The thread is about to sleep for this condition (Condition::announce).
    void announce(Condition& condition) {
        if (since_ns_ == 0) since_ns_ = os::now_ns();
        condition.announce(entry_, since_ns_);
    }

private:
    node::AwaitedEntry entry_;
    std::uint64_t since_ns_ = 0;  // when the thread slept first; 0: it has not slept
};

}  // namespace acp::gma
