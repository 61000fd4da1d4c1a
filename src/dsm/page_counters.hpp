// SPDX-License-Identifier: BSD-3-Clause
// What one rank counts of its shared pages, for acp_query_stats_dsm and acpstat. The counters lie in
// the node segment, so that acpstat reads them without the rank's help. All are zero while the rank
// has no shared pages. Written by the threads of the rank, read by any process; relaxed, for no data
// hang on them. Knows no page.
// Tests: tests/conformance/dsm_counters_test.cpp, tests/tools/acpstat_dsm_test.py.
#pragma once

#include <atomic>
#include <cstdint>

#include "node/claims.hpp"
#include "node/segment.hpp"

namespace acp::dsm {

using PageCounter = std::atomic<std::uint64_t>;

// What the handlers of faults count.
struct PageFaultCounters {
    PageCounter faults{0};         // signals
    PageCounter absent_faults{0};  // those on pages that were not mapped
    PageCounter ns{0};             // the time that handlers took, without the kernel's own part
    PageCounter ahead{0};          // pages that streams fetched or mapped ahead of their touch
};

struct FetchCounts {
    PageCounter pages{0};
    PageCounter repeated{0};  // gets again, since the mark was late
    PageCounter waits{0};     // a thread slept while another one moved the page
};

struct FlushCounts {
    PageCounter pages{0};  // pages that had a difference
    PageCounter bytes{0};  // bytes of all differences
};

// What evictions count (dsm/page_evictor.hpp).
struct EvictionCounts {
    PageCounter pages{0};  // copies that the rank dropped for the bound of its node
    FlushCounts sent;  // dropped pages that had a difference; PageCounters::flushes counts them too
};

// What the collective calls count.
struct SharedPagesCounters {
    PageCounter pages_allocated{0};
    PageCounter allocations{0};
    PageCounter barriers{0};
    PageCounter dropped{0};  // pages that the rank had mapped, and that barriers unmapped
    // Pages of PageFaultCounters::ahead that barriers and evictions dropped, of no known use.
    PageCounter unused{0};
    PageCounter gained{0};  // pages of which a barrier made this node the home; the leader counts
};

// The results of the check of writes (dsm/race_check.hpp) on all nodes, the same on all ranks.
struct RaceCounts {
    PageCounter races{0};
    PageCounter unchecked{0};  // pages for which the check had no room
};

struct PageCounters {
    PageCounter pages{0};  // the size of the window, without the pages that stay unused
    PageFaultCounters faults;
    FetchCounts fetches;
    PageCounter prefetched{0};  // pages that acp_prefetch_dsm was given; the node may have had some
    PageCounter updated{0};     // pages that barriers fetched again
    FlushCounts flushes;
    EvictionCounts evictions;
    SharedPagesCounters calls;
    RaceCounts checks;

    void clear() noexcept {
        for (PageCounter* const counter : {&pages,
                                           &faults.faults,
                                           &faults.absent_faults,
                                           &faults.ns,
                                           &faults.ahead,
                                           &fetches.pages,
                                           &fetches.repeated,
                                           &fetches.waits,
                                           &prefetched,
                                           &updated,
                                           &flushes.pages,
                                           &flushes.bytes,
                                           &evictions.pages,
                                           &evictions.sent.pages,
                                           &evictions.sent.bytes,
                                           &calls.pages_allocated,
                                           &calls.allocations,
                                           &calls.barriers,
                                           &calls.dropped,
                                           &calls.unused,
                                           &calls.gained,
                                           &checks.races,
                                           &checks.unchecked}) {
            counter->store(0, std::memory_order_relaxed);
        }
    }
};

static_assert(sizeof(PageCounters) == 184 && PageCounter::is_always_lock_free);

// A PageCounters of each process.
inline constexpr node::ClaimedRange page_counters_range{
    .name = "counters of shared pages",
    .bytes = [](const node::Shape&) -> std::uint64_t { return sizeof(PageCounters); },
    .has_address = false};

//   slot  of a rank of the node
[[nodiscard]] inline PageCounters& page_counters(const node::Segment& segment,
                                                 std::uint32_t slot) noexcept {
    return *reinterpret_cast<PageCounters*>(segment.claimed(slot, page_counters_range));
}

}  // namespace acp::dsm
