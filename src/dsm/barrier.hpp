// SPDX-License-Identifier: BSD-3-Clause
// The barrier of shared pages, and the parts of it that locks, fences and flush hints use alone. It
// knows the order of the steps, and neither the kernel nor the network: Tracker, Flusher, PageFetcher and
// team::synchronize_with_notices do them.
//
// After a barrier every rank reads what any rank wrote before it. Steps; a rank is in one of them,
// and the roll-call names it:
//   1. every rank   harvest(): its written pages into the node's set.             node meeting
//   2. every rank   flushes groups of the set until it is empty, then complete().  node meeting
//   3. the leader   takes the marks of pages homed here (pages/sharers.hpp): each page that is marked
//                   for the first time gets one notice, whether written or not, and is armed in 7
//   4. the leader   pushes the pages of learned sets (learned_sets.hpp), one copy_list a node, and
//                   waits for them: the receivers keep these pages
//   5. the leaders  synchronize_with_notices: runs of {first, count, writer, kind}; beyond 1 KiB a
//                   global address and a count, fetched after it
//   6. the leader   from the notices of all nodes, alike on each: settles the page words
//                   (invalidate, become_home, lose_home), the homes that migrate, the race report,
//                   and writes the runs to drop.                                   node meeting
//   7. every rank   unmaps the dropped runs from its own mapping, arms the homes of step 3
// A rank leaves after its own step 7: a slower rank of the node may still have a dropped page mapped,
// and touches it only after its own step 7.
//
// Who keeps a copy: the sole writer of a page (its home has the same bytes); the receivers of a push; all
// other nodes drop theirs. A page with one and the same writer in two successive epochs migrates to it.
//
// On one node steps 2-7 do nothing, and the barrier is the team's.
//
// Failures: a lost home makes step 2 fail on the writing node, a lost leader step 5; both return peer
// on all ranks, with the page or the node; the ranks may continue to read what they have. A timeout
// resumes the same barrier with the next call, as team::synchronize does.
// Threads: one thread of each rank; its other threads do not touch the window during the call.
// Tests: tests/unit/dsm/barrier_test.cpp over plain copies (random race-free patterns of 3 nodes, 2
// ranks and 2 threads against a model, the ten mutants), tests/faults/dsm_barrier_kills.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "dsm/window.hpp"

namespace acp::team {
class Team;
}

namespace acp::dsm {

class PageFetcher;
class Flusher;
class NodeState;
class Tracker;

// All of them outlive the barrier.
struct BarrierParts {
    team::Team& ranks;    // all ranks
    team::Team& leaders;  // one rank a node; synchronizes with notices
    Window& window;
    Tracker& tracker;
    PageFetcher& fetcher;
    Flusher& flusher;
    NodeState& node;
};

class PageBarrier {
public:
    explicit PageBarrier(const BarrierParts& parts) noexcept : parts_(parts) {}

    // Collective over all ranks. Errors: peer, timeout, interrupted.
    base::Status synchronize();

    // Steps 1 and 2 for a range, without waiting: the hint that its writes are complete. The barrier
    // then finds these pages clean.
    base::Status flush(PageRange pages);

    // For flag idioms: steps 1 and 2 for a range, complete(), then drops what others may have
    // changed in it. Pages with other ranks' silent writes keep their mapping and are refetched by
    // merging: the home's bytes where this node's difference is empty.
    base::Status fence(PageRange pages);

    // The number of barriers that ended; the epoch of page words.
    [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }

private:
    BarrierParts parts_;
    std::uint64_t epoch_ = 1;
};

}  // namespace acp::dsm
