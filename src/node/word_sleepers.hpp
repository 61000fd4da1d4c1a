// SPDX-License-Identifier: BSD-3-Clause
// Wakes the threads of a process that sleep until a word of its memory changes
// (gma/word_waits.hpp). A thread that has changed memory of a process calls this; the inline path
// has a form without the fence (gma/inline_access.hpp), because the sleeper executes a barrier on
// all cores after it has counted itself. Any thread of any process of the node.
#pragma once

#include <atomic>

#include "base/fence.hpp"
#include "node/segment.hpp"
#include "node/wait.hpp"

namespace acp::node {

// Called after the change is visible. A fence and one load if no thread of the process sleeps for a
// word.
inline void ring_word_sleepers(const Segment& segment, std::uint32_t slot) noexcept {
    // The change and the load of the counter must not be reordered: the sleeper counts itself, then
    // tests the word.
    base::fence(std::memory_order_seq_cst);
    Slot& owner = segment.slot(slot);
    // relaxed: ordered by the fence
    if (owner.word_sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        ring_bell_after_rmw(owner.door.waiter_bell);
    }
}

}  // namespace acp::node
