// SPDX-License-Identifier: BSD-3-Clause
// The part of planning that chooses the nodes of a job and the ranks of each. Reads the host file;
// starts nothing. One thread.
#pragma once

#include <optional>

#include "plan.hpp"

namespace acp::run {

// Fills in the addresses of emulated nodes, one per rail, once the number of rails is known. Does
// nothing to other jobs.
void give_emulated_addresses(PlannedJob& job);

// Fills in the nodes, the number of processes, and the processes of each node.
std::optional<Refusal> plan_nodes(const Options& options, PlannedJob& job);

}  // namespace acp::run
