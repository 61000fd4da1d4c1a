// SPDX-License-Identifier: BSD-3-Clause
// The check of writes (ACP_DSM_CHECK) as a rank takes part in it: joins the node's check with the meeting
// of the leaders that follows each barrier, and counts, prints or returns what all nodes found.
// For the thread of the rank that is in a collective call; check() also for RaceCheck's other threads.
// Tests: tests/conformance/dsm_check_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/config.hpp"
#include "base/status.hpp"
#include "dsm/home_link.hpp"
#include "dsm/lone_pages.hpp"
#include "dsm/node_state.hpp"
#include "dsm/page_counters.hpp"
#include "dsm/page_source.hpp"
#include "dsm/race_check.hpp"
#include "dsm/touched_bytes.hpp"
#include "dsm/window.hpp"
#include "node/segment.hpp"
#include "team/team.hpp"

#include "pages/allocated_pages.hpp"

namespace acp::dsm {

// The settings of the check, the same on all ranks.
struct RaceWatchPlan {
    base::PageCheck check = base::PageCheck::off;
    const pages::AllocatedPages& allocated;  // outlives the watch
};

class RaceWatch {
public:
    // nullptr if the job does not check its writes.
    //   window, segment  outlive this
    //   memory           RaceCheck::bytes() of the node, zero at first
    static std::unique_ptr<RaceWatch> start(const Window& window,
                                            const node::Segment& segment,
                                            const RaceWatchPlan& plan,
                                            std::byte* memory);

    // In a call on the team of all ranks, behind a barrier that has settled. Returns false if the team
    // is broken.
    //   state   gets the failure as its outcome, if it has none
    //   status  the result of the barrier; gets state, on all ranks alike, if there is a race and it is
    //           to stop the program
    bool meet(team::Team& team, NodeState<> state, RaceCounts& counts, base::Status& status);

    [[nodiscard]] RaceCheck& check() noexcept { return check_; }

    // nullptr: the job does not check touches.
    [[nodiscard]] TouchedBytes* touches() const noexcept { return touches_.get(); }

    // The source of pages for faults: `source`, or one by which the first touch of each page is a fault.
    //   source  outlives this
    [[nodiscard]] PageSource& source_for_faults(PageSource& source) {
        if (touches_ == nullptr) return source;
        lone_.emplace(source);
        return *lone_;
    }

    // Sends the touches of this rank to the homes. Before it arrives at a barrier.
    //   rank  this one
    // Errors: those of the requests.
    base::Status send_touches(HomeLink& link, std::uint32_t rank);

private:
    RaceWatch(const Window& window, const RaceWatchPlan& plan, std::byte* memory, BlockFile file)
        : window_(window), plan_(plan), check_(window, memory, file, plan.check) {
        if (plan.check == base::PageCheck::reads)
            touches_ = std::make_unique<TouchedBytes>(window.page_count(), check_.fences());
    }

    const Window& window_;
    RaceWatchPlan plan_;
    RaceCheck check_;
    std::unique_ptr<TouchedBytes> touches_;
    std::optional<LonePages> lone_;
};

}  // namespace acp::dsm
