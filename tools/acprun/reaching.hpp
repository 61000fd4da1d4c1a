// SPDX-License-Identifier: BSD-3-Clause
// The part of planning that says how other hosts are reached: by the user's command, by that of the
// batch system whose hosts they are, or by ssh; and whether the job's key may travel there as it
// is. Starts nothing. One thread.
#pragma once

#include <optional>

#include "plan.hpp"

namespace acp::run {

// Sets what another machine needs: the directory, the variables for ACP, and the command that
// reaches it. Does nothing where all nodes are on this machine.
//   is_key_needed  the nodes' datagrams are encrypted
std::optional<Refusal> plan_reaching(const Options& options, bool is_key_needed, PlannedJob& job);

// Refuses where another launcher has started several processes of which this is one: each would
// start a job.
std::optional<Refusal> refuse_to_be_one_of_several();

}  // namespace acp::run
