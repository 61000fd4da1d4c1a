// SPDX-License-Identifier: BSD-3-Clause
// Finds the nodes of running jobs on this machine and reads their state without stopping them. A
// node's segment, in which ranks publish their waits, and the counters of its gateways are memory
// files without a name. This process opens them through /proc, if it has the permission to trace a
// process that has them open. A job of one node has no gateway. Reads only. Main thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "gateway/stats_block.hpp"
#include "node/awaited.hpp"
#include "node/segment.hpp"
#include "os/mapping.hpp"

namespace acp::stat {

// One gateway of one job, in the process that runs it; or the only node of a job, which has none.
struct Gateway {
    int pid = 0;
    bool has_counters =
        true;  // false: there is no gateway, and of the values only the numbers of the job are set
    // the segment of its node, mapped read-only; not open where a test made this Gateway
    node::Segment segment;
    std::uint64_t job_id = 0;
    int launcher_pid = 0;  // pid of the job's acprun; 0: it runs on another machine
    std::vector<std::string>
        programs;  // of the node's ranks that have not ended, each once and in the order of ranks
    std::uint32_t first_process = 0;
    os::Mapping counters;  // a StatsBlock, mapped to be read
    gateway::StatsValues values{};
};

// All gateways, and all nodes without one, of this machine that this user may look into, ordered by
// job and node. The result lacks processes that end during the call. Errors: system (/proc cannot
// be read).
base::Result<std::vector<Gateway>> find_gateways();

// Copies the counters anew, if there are any. false when the gateway is gone or has not written any yet.
bool refresh(Gateway& gateway);

// Reads from the node's segment what its ranks do at this moment. Nothing where the node is that of
// another entry too (a rank's own gateway).
[[nodiscard]] std::vector<node::Doing> doings_of(const Gateway& gateway);

// What a rank with shared pages has counted (dsm/page_counters.hpp): names as in acp_stats_dsm_t.
struct SharedPagesOf {
    std::uint32_t rank = 0;
    std::vector<std::pair<const char*, std::uint64_t>> counters;
};

// Reads the counters of the node's ranks that have shared pages. Nothing where doings_of() has none.
[[nodiscard]] std::vector<SharedPagesOf> shared_pages_of(const Gateway& gateway);

// "1f3a...": a job's name, as acprun and its ranks know it (ACP_JOB_ID).
[[nodiscard]] std::string name_of_job(std::uint64_t job_id);

// Those of one job.   wish  the start of its name, or the number of a process of it (acprun's, an agent's)
// Errors: argument (none fits, or several jobs do; the message lists what there is).
base::Result<std::vector<Gateway>> select(std::vector<Gateway> all, const std::string& wish);

}  // namespace acp::stat
