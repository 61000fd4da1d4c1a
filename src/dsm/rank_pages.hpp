// SPDX-License-Identifier: BSD-3-Clause
// The part that one rank has in the shared pages of several nodes: joins its mapping, its tracker and
// its fault service with the fetcher, the flusher and the barrier, which know each other by roles
// alone.
// Collective calls run inside a call on the team of all ranks, by one thread of the rank, while its
// other threads do not touch the window; they return false if the team is broken.
// Tests: tests/conformance/dsm_test.cpp, dsm_random_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/config.hpp"
#include "base/status.hpp"
#include "dsm/barrier.hpp"
#include "dsm/bound_pages.hpp"
#include "dsm/bound_ranges.hpp"
#include "dsm/early_flusher.hpp"
#include "dsm/fault_service.hpp"
#include "dsm/fetcher.hpp"
#include "dsm/flusher.hpp"
#include "dsm/home_link.hpp"
#include "dsm/lent_pages.hpp"
#include "dsm/long_ranges.hpp"
#include "dsm/mapped_pages.hpp"
#include "dsm/node_state.hpp"
#include "dsm/page_counters.hpp"
#include "dsm/page_evictor.hpp"
#include "dsm/page_fence.hpp"
#include "dsm/page_journal.hpp"
#include "dsm/page_updates.hpp"
#include "dsm/race_watch.hpp"
#include "dsm/segment_peers.hpp"
#include "dsm/tracker.hpp"
#include "dsm/window_memory.hpp"
#include "gma/gma.hpp"

#include "pages/homes.hpp"

namespace acp::dsm {

struct RankPagesOptions {
    TrackerKind kind = TrackerKind::none;
    std::uint64_t cache_bytes = 0;  // the argument of RankPages::set_cache()
    RaceWatchPlan check;
};

class RankPages final : private PageLoss {
public:
    // The bytes of the window's state (WindowPlan): those of each node, whole pages, with those of
    // RaceCheck if the job checks its writes, and behind them the journals of its ranks.
    [[nodiscard]] static constexpr std::uint64_t state_bytes(
        std::uint64_t pages, base::PageCheck check = base::PageCheck::off) noexcept {
        const std::uint64_t bytes = NodeState<>::bytes(pages) + NodeLocks<>::bytes(pages);
        return (bytes + pages::page_bytes - 1) / pages::page_bytes * pages::page_bytes +
               (check == base::PageCheck::off ? 0 : RaceCheck::bytes(pages, check));
    }

    static constexpr std::uint64_t rank_bytes = PageJournal::bytes;

    // Begins to track this rank's mapping: from now on a touched page is fetched.
    //   gma, memory, bound  outlive this
    // Errors: as Tracker::start and FaultService::start.
    static base::Result<std::unique_ptr<RankPages>> start(gma::Gma& gma,
                                                          const WindowMemory& memory,
                                                          const BoundRanges& bound,
                                                          const RankPagesOptions& options);

    // No thread of the rank touches the window while it ends.
    ~RankPages() override = default;
    RankPages(const RankPages&) = delete;
    RankPages& operator=(const RankPages&) = delete;

    // Collective. Runs PageBarrier, the second meeting of BoundPages after the release of a lock with
    // bytes, and the check of writes. Then this rank has the pages that PageUpdates names, as far as
    // their homes live. status: also state, on all ranks (the check found a race, and is to stop).
    bool synchronize(team::Team& team, base::Status& status);

    // Collective. The pages of a new allocation get their homes. status: system (the kernel refuses
    // to unmap the pages).
    bool assign(team::Team& team,
                PageRange pages,
                const pages::HomeRule& rule,
                base::Status& status);

    // Collective. The pages of a freed allocation become zero and lose their homes. status: as above.
    bool release(team::Team& team, PageRange pages, base::Status& status);

    // Collective: synchronize(), at which a node becomes the home of pages. Pages that the barrier
    // fetches again come from their new homes.
    // status: as synchronize(); the failure of a rank, on all ranks: as PageFetcher::fetch; system.
    bool move(team::Team& team, PageRange pages, pages::NodeNumber node, base::Status& status);

    // Collective, after synchronize(), and before the bytes of the range are those of the page again, which
    // differences have. status: as synchronize().
    bool end_bound(team::Team& team, const BoundRange& range, base::Status& status);

    // The long ranges that are bound to locks.
    [[nodiscard]] LongRanges& long_ranges() noexcept { return locked_.long_ranges; }

    // The bytes that travel with locks.
    [[nodiscard]] BoundPages& bound_pages() noexcept { return locked_.travelling; }

    // Bounds the copies of other nodes' pages that the node keeps, for all its ranks. A lower bound than
    // before holds from the next barrier on, or after some faults.
    //   bytes  0: no bound; at least PageEvictor::copies_least pages are kept
    void set_cache(std::uint64_t bytes) noexcept {
        node_.set_copies_max(PageEvictor::copies_max_of(bytes));
    }

    // 0: no bound.
    [[nodiscard]] std::uint64_t cache_pages() const noexcept { return node_.copies_max(); }

    // Fetches pages that the node lacks, and maps them for this rank: it touches them without a fault
    // until the next barrier or an eviction drops them. If the copies have a bound, it fetches the first
    // half as many pages at most. Where the tracker maps whole blocks, does so for all pages of
    // the blocks.
    // Errors: as PageFetcher::fetch; system (the kernel refuses to map them).
    base::Status prefetch(PageRange pages);

    // Begins to send what this rank has written in the pages. Errors: system (the kernel does not say
    // which pages were written); nothing is sent then.
    base::Status flush(PageRange pages);

    // Returns when all that flush() began has been sent: the memory of the homes may then go.
    void finish_flushes() noexcept { early_.finish(); }

    // PageFence::synchronize.
    base::Status fence(PageRange pages);

    // Whether barriers fetch pages again.
    void choose_update(PageRange pages, UpdateChoice choice) noexcept {
        updates_.choose(pages, choice);
    }

    // The plain mapping has the pages until this rank's next barrier; writes to it that end before it are
    // sent to their homes.
    // Errors: as PageFetcher::fetch.
    base::Status open(PageRange pages, bool is_written);

    [[nodiscard]] TrackerKind kind() const noexcept { return tracker_->kind(); }

private:
    // The bytes that are bound to locks.
    struct LockedBytes {
        BoundPages travelling;
        LongRanges long_ranges;
    };

    class Assignment;
    class Release;
    class Move;

    RankPages(gma::Gma& gma,
              const WindowMemory& memory,
              const BoundRanges& bound,
              const RaceWatchPlan& check);

    // The barrier, the meeting of bound pages and the check of writes, which fetch no page again.
    bool meet(team::Team& team, base::Status& status);
    // Fetches and maps the pages that the last barrier named. Errors: system.
    base::Status fetch_again();
    // The caller saves the bytes of held locks before, and restores them afterwards.
    bool move_held(team::Team& team, PageRange pages, pages::NodeNumber node, base::Status& status);

    [[nodiscard]] TouchedBytes* touches() const noexcept;
    base::Status prefetch_in_bound(PageRange pages);
    void end(const base::Status& failure) noexcept override;
    [[nodiscard]] PageParts parts() noexcept;

    gma::Gma& gma_;
    const WindowMemory& memory_;
    const BoundRanges& bound_;
    PageCounters& counters_;
    MappedPages<> mapped_;
    PageUpdates updates_;
    LentPages lent_;
    NodeState<> node_;
    SegmentPeers peers_;
    std::unique_ptr<RaceWatch> races_;  // nullptr: the job does not check its writes
    GmaHomeLink link_;
    Flusher flusher_;
    PageEvictor evictor_;
    PageFetcher fetcher_;
    PageFence fence_;
    EarlyFlusher early_;  // ends before the flusher
    LockedBytes locked_;
    std::unique_ptr<Tracker> tracker_;
    FaultService service_;  // ends before the tracker
    std::unique_ptr<PageBarrier> barrier_;
};

}  // namespace acp::dsm
