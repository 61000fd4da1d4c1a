// SPDX-License-Identifier: BSD-3-Clause
// Ranges of shared pages that are bound to locks and have more bytes than travel with a lock, in a job
// of several nodes. Their bytes stay in the pages; the lock's record names the pages that changed
// (pages/change_log.hpp).
//
// leave(), before the thread releases the lock:
//   1. The tracker reports the pages of the range that this rank wrote, and the flusher sends what this
//      node wrote in them, and waits until the homes have it.
//   2. The pages of which the node has sent writes since the last release, by any way (an eviction, a
//      flush hint, a barrier while the lock was held), enter the log under the next number.
//   The release then publishes the log, and the node has seen that number.
// enter(), after the thread has got the lock and the log with it:
//   3. Those copies of the node that releases changed which it has not seen become the homes'
//      (PageFence::refresh); all copies of the range if the log has forgotten such a release.
// A node whose ranks pass the lock on among them refreshes nothing. Ranges of several locks may share a
// page: its bytes are sent and merged one by one.
//
// The death of a holder. The homes have what its last acp_unlock sent, and may have a part of what it
// wrote since; its own node has the rest in its copies. The next holder enters all pages of the range
// into the log, so each node refreshes all of its copies when it gets the lock: then all nodes agree on
// each byte, which is that of the last release or the dead holder's. The node of the dead rank sends no
// byte of the range until one of its ranks has entered (PageParts::leave_out_bound), since the homes may
// have newer ones; this also holds for what the dead rank's journal repeats.
//
// If a home is lost, leave() and enter() fail, and the lock passes on: its next holder fails to enter
// in the same way, if its node has copies of pages that changed.
// Threads: enter() and leave() by the thread that holds the lock; one range is in one call at a time.
// Tests: tests/unit/dsm/long_ranges_test.cpp, tests/conformance/dsm_long_locks_test.cpp,
// dsm_lock_random_test.cpp, tests/dsm.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.hpp"
#include "dsm/bound_ranges.hpp"
#include "dsm/flusher.hpp"
#include "dsm/lent_pages.hpp"
#include "dsm/page_fence.hpp"
#include "dsm/tracker.hpp"

namespace acp::dsm {

// Adds what a tracker finds to the node's written pages.
class NodeWrites final : public WrittenPages {
public:
    explicit NodeWrites(NodeState<> node) noexcept : node_(node) {}

    void add(PageRange pages) noexcept override { node_.add_written(pages); }

private:
    NodeState<> node_;
};

class LongRanges {
public:
    //   flusher, fence, lent_pages  outlive this
    LongRanges(const PageParts& parts,
               Flusher& flusher,
               PageFence& fence,
               LentPages& lent_pages) noexcept
        : parts_(parts), flusher_(flusher), fence_(fence), lent_(lent_pages) {}

    // Before the first leave(); the tracker outlives this.
    void start(Tracker& tracker) noexcept { tracker_ = &tracker; }

    // The calling thread has got the lock. After an error it releases the lock, with range.log.
    // Errors: mismatch (the record is no log), and as PageFence::refresh.
    //   record    the lock's
    //   has_died  a holder died and had not released the lock
    base::Status enter(BoundRange& range, std::span<const std::byte> record, bool has_died);

    // The calling thread is about to release the lock, with range.log, also after an error.
    // Errors: as Flusher::flush; the next barrier repeats what was not sent.
    base::Status leave(BoundRange& range) noexcept;

    // The lock is released with a log.
    void end(const BoundRange& range, std::uint64_t newest) const noexcept {
        parts_.locks.note_seen(range, newest);
        parts_.locks.end_hold(range, parts_.slot);
    }

    // Collective, in a call that binds the pages: this rank's writes to them are recorded from now on.
    // Errors: system.
    base::Status track(PageRange pages) noexcept { return tracker_->arm(pages).status(); }

private:
    base::Status refresh(const BoundRange& range, bool has_died);

    PageParts parts_;
    Flusher& flusher_;
    PageFence& fence_;
    LentPages& lent_;
    Tracker* tracker_ = nullptr;
};

}  // namespace acp::dsm
