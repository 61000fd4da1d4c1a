// SPDX-License-Identifier: BSD-3-Clause
// Makes the plans for the agents from options and environment; every refusal that is possible
// before a process is started happens here. One thread.
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
    std::string host;       // another machine; "" = this one
    std::string name;       // for messages: "node 1", or the host
    std::string addresses;  // of its gateway, one per rail; "" = the agent finds them
};

struct PlannedJob {
    launch::LaunchPlan common;       // the part that all nodes share
    std::vector<PlannedNode> nodes;  // never empty
    // the command that reaches a host, and its options: "%h" in them stands for the host, which is
    // appended where there is none; the remote command is appended as one word
    std::vector<std::string> ssh;
    std::string
        batch_command;  // the batch system's, in the same form, where the hosts are its; "" = ssh
    // the command carries clear text: the key goes as a credential (launch/munge.hpp)
    bool is_key_sealed = false;
    std::string agent_path;  // path of acp-agent on the hosts
    // the longest wait for each answer of a host and, while nodes exchange addresses, of an agent
    std::uint64_t ssh_timeout_ns = 30'000'000'000;
    std::uint64_t hang_timeout_ns = 0;  // ACP_HANG_TIMEOUT; 0: never
    bool is_netns = false;
    std::uint32_t rails = 1;
    std::vector<std::string> warnings;  // about the environment
    std::vector<std::string> notes;     // about defaults that were chosen

    // The plan that is sent to one node.
    [[nodiscard]] launch::LaunchPlan plan_of(std::uint32_t node) const;

    // The program that a process runs, as the user wrote it; "" if all ranks run programs of one
    // name.
    [[nodiscard]] std::string distinct_program_of(std::uint32_t process) const;
};

// Plans the job. May create the output directory.
std::variant<PlannedJob, Refusal> plan_job(const Options& options);

// Describes what would be started, for people.
[[nodiscard]] std::string describe(const PlannedJob& job);

}  // namespace acp::run
