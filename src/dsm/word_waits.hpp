// SPDX-License-Identifier: BSD-3-Clause
// How a thread sleeps until another thread of its node changes a word of the shared state: the word of
// a page that the other one moves, or the claim of a group that it flushes. Has no state. Any thread,
// signal handlers included.
// Tests: tests/unit/dsm/fetcher_test.cpp, page_fence_test.cpp.
#pragma once

#include <cstdint>

#include "dsm/node_peers.hpp"
#include "dsm/node_state.hpp"

namespace acp::dsm {

// Sleeps while the word is as `may_wait` wants it, until it changes; may return earlier.
//   may_wait  bool(std::uint64_t): whether a thread will change this value
template <typename MayWait>
void wait_for_change(const NodeState<>& node,
                     NodePeers& peers,
                     const NodePeers::Word& word,
                     const MayWait& may_wait) {
    // seq_cst, like the load in wake_waiters(): of a thread that will sleep and one that has changed
    // the word, either this one sees the word or that one sees the waiter.
    node.waiters().fetch_add(1, std::memory_order_seq_cst);
    const std::uint64_t seen = word.load(std::memory_order_seq_cst);
    if (may_wait(seen)) peers.wait_while(word, seen);
    node.waiters().fetch_sub(1, std::memory_order_relaxed);
}

// The caller has changed the word.
inline void wake_waiters(const NodeState<>& node, NodePeers& peers, const NodePeers::Word& word) {
    // seq_cst: see wait_for_change()
    if (node.waiters().fetch_add(0, std::memory_order_seq_cst) != 0) peers.wake(word);
}

}  // namespace acp::dsm
