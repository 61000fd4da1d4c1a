// SPDX-License-Identifier: BSD-3-Clause
// The counters of a job's gateways as tables for people and as JSON for programs. Pure.
// Tests: tests/tools/acpstat/show_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "common/json.hpp"
#include "job.hpp"

namespace acp::stat {

// Two readings of a gateway's counters. The screen shows their difference per second; after the
// first reading it shows the totals since the gateway's start.
struct Look {
    const Gateway* now = nullptr;
    const gateway::StatsValues* before = nullptr;  // nullptr: the first look
};

// One line per job: its name, nodes seen on this machine, processes.
[[nodiscard]] std::string list_text(const std::vector<Gateway>& all);

// Tables: nodes, peers, ranks with commands outstanding, drops and their reasons.
[[nodiscard]] std::string job_text(const std::vector<Look>& looks);

[[nodiscard]] tool::Json job_json(const std::vector<Gateway>& gateways);

}  // namespace acp::stat
