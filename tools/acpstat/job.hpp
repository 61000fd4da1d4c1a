// SPDX-License-Identifier: BSD-3-Clause
// Finding the nodes of running jobs on this machine, and reading what they tell without stopping them: a node's segment,
// in which its ranks say what they wait for, and the counters of its gateways are memory files without a name, which
// whoever may look into a process opens through /proc. A job of one node has no gateway. Reads only. Main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "node/awaited.hpp"
#include "node/segment.hpp"
#include "os/mapping.hpp"

#include "stats/stats_block.hpp"

namespace acp::stat {

// One gateway of one job, in the process that runs it; or the only node of a job, which has none.
struct Gateway {
    int pid = 0;
    bool has_counters =
        true;  // false: there is no gateway, and of the values only the numbers of the job are set
    node::Segment segment;  // of its node, mapped to be read; not open in a value made by hand
    std::uint64_t job_id = 0;
    int launcher_pid = 0;  // of the job's acprun; 0: it runs on another machine
    std::vector<std::string>
        programs;  // of the node's ranks that have not ended, each once and in the order of ranks
    std::uint32_t first_process = 0;
    os::Mapping counters;  // a StatsBlock, mapped to be read
    stats::StatsValues values{};
};

// All gateways, and all nodes without one, of this machine that this user may look into, ordered by job and node. A
// process that ends meanwhile is left out. Errors: system (/proc cannot be read).
base::Result<std::vector<Gateway>> find_gateways();

// Copies the counters anew, if there are any. false when the gateway is gone or has not written any yet.
bool refresh(Gateway& gateway);

// What the ranks of a node do, read now. Nothing where the node is that of another entry too (a rank's own gateway).
[[nodiscard]] std::vector<node::Doing> doings_of(const Gateway& gateway);

// "1f3a...": a job's name, as acprun and its ranks know it (ACP_JOB_ID).
[[nodiscard]] std::string name_of_job(std::uint64_t job_id);

// Those of one job.   wish  the start of its name, or the number of a process of it (acprun's, an agent's)
// Errors: argument (none fits, or several jobs do; the message lists what there is).
base::Result<std::vector<Gateway>> select(std::vector<Gateway> all, const std::string& wish);

}  // namespace acp::stat
