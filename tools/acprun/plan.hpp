// SPDX-License-Identifier: BSD-3-Clause
// From options and environment to the plans the agents are sent; everything that can be refused before a
// process is started is refused here. One thread.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "launch/launch_plan.hpp"
#include "options.hpp"

namespace acp::run {

struct Refusal {
    int exit_code = 0;
    std::string problem;
    std::string hint;  // may be empty
};

// One node of the job.
struct PlannedNode {
    std::string host;     // to be reached by ssh; "" = this machine
    std::string name;     // for messages: "node 1", or the host
    std::string address;  // of its gateway; "" = the agent finds out
};

struct PlannedJob {
    launch::LaunchPlan common;       // what all nodes share
    std::vector<PlannedNode> nodes;  // at least one
    std::vector<std::string> ssh;    // the command and its options, before host and command
    std::string agent_path;          // of acp-agent on the hosts
    std::uint64_t ssh_timeout_ns = 0;
    bool is_netns = false;
    std::vector<std::string> warnings;  // about the environment
    std::vector<std::string> notes;     // about what was chosen without being asked for

    // What one node is sent.
    [[nodiscard]] launch::LaunchPlan plan_of(std::uint32_t node) const;

    // What the process of an index runs, as the user wrote it; "" where all run programs of one name.
    [[nodiscard]] std::string distinct_program_of(std::uint32_t process) const;
};

// May make the output directory.
std::variant<PlannedJob, Refusal> plan_job(const Options& options);

// What would be started, for people.
[[nodiscard]] std::string describe(const PlannedJob& job);

}  // namespace acp::run
