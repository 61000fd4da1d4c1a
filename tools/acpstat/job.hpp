// SPDX-License-Identifier: BSD-3-Clause
// Finding the gateways of running jobs on this machine, and reading their counters without stopping them: a gateway
// keeps its counters in a memory file without a name, which whoever may look into its process opens through /proc.
// Reads only. Main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "gateway/stats_block.hpp"
#include "os/mapping.hpp"

namespace acp::stat {

// One gateway of one job, in the process that runs it.
struct Gateway {
    int pid = 0;
    std::uint64_t job_id = 0;
    std::uint32_t first_process = 0;
    os::Mapping counters;  // a StatsBlock, mapped to be read
    gateway::StatsValues values{};
};

// All gateways of this machine that this user may look into, ordered by job and node. A process that ends
// meanwhile is left out. Errors: system (/proc cannot be read).
base::Result<std::vector<Gateway>> find_gateways();

// Copies the counters anew. false when the gateway is gone or has not written any yet.
bool refresh(Gateway& gateway);

// "1f3a...": a job's name, as acprun and its ranks know it (ACP_JOB_ID).
[[nodiscard]] std::string name_of_job(std::uint64_t job_id);

// Those of one job.   wish  the start of its name, or the number of a process of it (acprun's, an agent's)
// Errors: argument (none fits, or several jobs do; the message lists what there is).
base::Result<std::vector<Gateway>> select(std::vector<Gateway> all, const std::string& wish);

}  // namespace acp::stat
