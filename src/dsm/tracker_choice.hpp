// SPDX-License-Identifier: BSD-3-Clause
// Which tracker a rank uses, and why no better one. Control paths only; one thread.
// Tests: tests/unit/dsm/tracker_choice_test.cpp.
#pragma once

#include <string>

#include "base/config.hpp"
#include "base/status.hpp"
#include "dsm/tracker.hpp"

namespace acp::dsm {

// For acpinfo and ACP_REPORT=1.
struct TrackerChoice {
    TrackerKind kind = TrackerKind::none;
    std::string reason = {};  // a clause without a full stop
};

// The best kind for a job: none on one node, else async; without async the faster one of sync and
// protect, measured for about 1 ms, since their order differs between processors.
//   wish  ACP_DSM_FAULTS: the choice unless it is automatic, or `none` on several nodes
// Each rank may have another kind, for the tracker is private to a rank.
// Errors: argument (`none` on several nodes). If the kernel lacks the chosen kind, Tracker::start
// fails.
base::Result<TrackerChoice> choose_tracker(bool is_one_node, base::PageFaultWay wish);

// What the first write to a protected page costs; the least of some rounds.
struct FirstWriteCost {
    double sync_ns;
    double protect_ns;
};

// Measures while another thread of the process runs, whose processor the kernel interrupts to change
// rights. Errors: as Tracker::start, and those of memory for the probe.
base::Result<FirstWriteCost> measure_first_writes();

}  // namespace acp::dsm
