// SPDX-License-Identifier: BSD-3-Clause
// The part of planning that says which nodes a job has and which ranks each of them. Reads the host file; starts
// nothing. One thread.
#pragma once

#include <optional>

#include "plan.hpp"

namespace acp::run {

// Fills in the nodes, the number of processes and how they are shared out.
std::optional<Refusal> plan_nodes(const Options& options, PlannedJob& job);

}  // namespace acp::run
