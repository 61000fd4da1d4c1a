// SPDX-License-Identifier: BSD-3-Clause
// The check of writes (ACP_DSM_CHECK) as a rank takes part in it: joins the node's check with the meeting
// of the leaders that follows each barrier, and counts, prints or returns what all nodes found.
// For the thread of the rank that is in a collective call; check() also for RaceCheck's other threads.
// Tests: tests/conformance/dsm_check_test.cpp.
#pragma once

#include <cstddef>
#include <memory>

#include "base/config.hpp"
#include "base/status.hpp"
#include "dsm/node_state.hpp"
#include "dsm/page_counters.hpp"
#include "dsm/race_check.hpp"
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

private:
    RaceWatch(const Window& window, const RaceWatchPlan& plan, std::byte* memory, BlockFile file)
        : window_(window), plan_(plan), check_(window, memory, file) {}

    const Window& window_;
    RaceWatchPlan plan_;
    RaceCheck check_;
};

}  // namespace acp::dsm
