// SPDX-License-Identifier: BSD-3-Clause
// The barrier of shared pages of several nodes. It knows the order of the steps, and neither the
// kernel nor the network: Tracker, Flusher and team::synchronize_with_leaders do them.
//
// After a barrier every rank reads what any rank wrote before it. Its steps:
//   1. every rank   adds the pages that it wrote to the node's set: those that its tracker harvests,
//                   and those of LentPages. Flushes groups of the set to the pages' homes. It leaves
//                   groups that another rank is flushing to that one, whose pass may have missed pages
//                   of this rank.   arrival of the node
//   2. the leader   flushes what is left in the set, also of ranks that died. Takes the marks of
//                   pages homed here (pages/sharers.hpp): each page that is marked for the first time
//                   gets one notice, whether written or not.
//   3. the leaders  exchange their notices.
//   4. the leader   settles the page words and the homes from the notices of all nodes, alike on
//                   each (pages/barrier_decision.hpp), and writes the runs to drop or to track. Drops
//                   copies that the node keeps beyond its bound, also those that several ranks map,
//                   which no rank may drop between barriers (dsm/page_evictor.hpp).
//                                                                          release of the node
//   5. every rank   unmaps the dropped runs from its own mapping, and arms the tracked ones.
//                   to_fetch_again() names those dropped pages that the rank is to have at once
//                   (dsm/page_updates.hpp): RankPages fetches and maps them.
// A rank leaves after its own step 5. A slower rank of the node may still have a dropped page mapped;
// it touches the page only after its own step 5.
//
// If a rank has released a lock with bound bytes since the last barrier, a second meeting follows
// (dsm/bound_pages.hpp): the heads of the notices say so, and all nodes agree.
//
// If the job checks its writes, the leader finds the races of the epoch in step 4, before homes move,
// and another meeting follows (dsm/race_check.hpp).
//
// Failures: if the flush of a rank fails, its node's notice says so, no node settles, and the barrier
// fails on all ranks; the writes stay in the node's set, and the next barrier repeats them. A lost
// rank breaks the team. The ranks may continue to read what they have.
// Threads: one thread of each rank; its other threads do not touch the window during the call.
// Tests: tests/conformance/dsm_test.cpp, dsm_random_test.cpp; the protocol: tests/unit/dsm/protocol_test.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "dsm/flusher.hpp"
#include "dsm/lent_pages.hpp"
#include "dsm/mapped_pages.hpp"
#include "dsm/node_state.hpp"
#include "dsm/page_updates.hpp"
#include "dsm/tracker.hpp"
#include "dsm/window.hpp"
#include "team/collectives.hpp"

#include "pages/barrier_decision.hpp"
#include "pages/notices.hpp"

namespace acp::dsm {

class PageBarrier final : private team::LeaderMeeting, private WrittenPages {
public:
    // This rank's alone. All outlive the barrier.
    struct RankMapping {
        Tracker& tracker;
        MappedPages<>& mapped;
        PageUpdates& updates;
        LentPages& lent;
        bool unmaps_all = false;  // the next touch of each page is a fault
    };

    //   flusher  outlives this
    PageBarrier(const PageParts& parts, const RankMapping& mapping, Flusher& flusher);

    // In a call on the team of all ranks. Returns false if the team is broken.
    //   status  the result, if the team is not broken. Errors: peer, system and mismatch, on all
    //           ranks alike
    bool synchronize(team::Team& team, base::Status& status);

    // Ascending; of the last barrier, none if it failed.
    [[nodiscard]] std::span<const PageRange> to_fetch_again() const noexcept { return again_; }

    // The ranges bound to locks that lie in pages with a notice of the last barrier. The leader's; empty
    // unless NodeState::is_renewed().
    [[nodiscard]] std::span<const BoundRange* const> renewed() const noexcept { return renewed_; }

private:
    [[nodiscard]] std::uint64_t bytes_max() const noexcept override;
    std::span<const char> notice() override;
    void settle(std::span<const std::span<const char>> notices) override;
    void add(PageRange pages) noexcept override;

    base::Status write_back();
    base::Code merge(std::span<const std::span<const char>> notices, bool& is_renewed);
    void note_renewed(std::span<const pages::MergedRun> merged);
    void count_copies(std::span<const pages::FateRun> fates);
    std::span<const pages::FateRun> evict(std::span<const pages::FateRun> fates);
    bool evict_page(pages::PageNumber page);
    base::Status follow_fates();
    os::PageOutcome follow(const pages::FateRun& run);
    os::PageOutcome follow_words();
    os::PageOutcome drop(PageRange pages);
    os::PageOutcome unmap(PageRange pages);
    void fetch_again(pages::PageNumber page) noexcept;
    void count_unused(pages::PageNumber page) noexcept;

    PageParts parts_;
    RankMapping own_;
    Flusher& flusher_;
    pages::BarrierDecision<> decision_;
    pages::NoticeMerger merger_;  // the leader's
    std::vector<char> notice_;    // a head, then the notices
    std::vector<const BoundRange*> renewed_;
    std::vector<PageRange> again_;
    std::vector<pages::FateRun> fates_;  // the leader's, where it has evicted copies
};

}  // namespace acp::dsm
