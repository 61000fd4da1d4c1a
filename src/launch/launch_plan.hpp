// SPDX-License-Identifier: BSD-3-Clause
// The plan that a launcher sends to a node's agent, and its form on the wire: NUL-terminated
// "name=value" fields, so that arguments may contain all that a program can be given. Knows neither
// the launcher's options nor how processes are started. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace acp::launch {

inline constexpr std::uint32_t launch_plan_version = 10;  // launcher and agent must agree
inline constexpr std::size_t launch_programs_max = 1024;  // most programs of a job

// A program, and the number of ranks that run it: those after the ranks of the program before it.
struct LaunchProgram {
    std::uint32_t procs = 1;
    std::string path;                    // path of the program; it is not searched for
    std::vector<std::string> arguments;  // its name first, as the user wrote it
};

struct LaunchPlan {
    std::uint32_t procs = 1;  // number of processes of the job
    std::uint32_t node = 0;   // index of this node
    std::vector<std::uint32_t>
        first_process;  // of each node, ascending from 0; empty: one node has all processes
    // processes on this machine, on all its nodes together; 0: those of this node
    std::uint32_t machine_procs = 0;
    std::uint64_t job_id = 0;      // random, the same on all nodes
    std::uint64_t heap_bytes = 0;  // the most bytes of each rank's heap, equal on all nodes
    std::uint32_t heap_bound = 0;  // what decided heap_bytes: a node::HeapBound
    std::uint32_t cipher = 0;      // between nodes, the same on all: a crypto::CipherWish, resolved
    // addresses of this node's gateway, one per rail, a blank between; "" = those of the machine's
    // interfaces
    std::string addresses;
    std::string networks;                 // chooses the interfaces, in the form of NetworkChoice
    std::string directory;                // working directory of the ranks; "" = that of the agent
    std::vector<LaunchProgram> programs;  // programs of the job, in the order of the ranks
    // "NAME=VALUE", set for the ranks in addition to what they inherit
    std::vector<std::string> variables;
    // rank.N.out and rank.N.err are written there; "" = output is passed on
    std::string output_directory;
    bool has_tags = false;                // lines begin with "[rank] "
    bool is_bound_to_cores = false;       // rank i is bound to the i-th usable CPU
    bool is_continue_on_failure = false;  // the other ranks run on when a rank fails
    bool is_quiet = false;                // no warnings
    bool is_netns = false;  // this node has a private network (os/network_namespace.hpp)

    [[nodiscard]] std::uint32_t nodes() const noexcept {
        return first_process.empty() ? 1U : static_cast<std::uint32_t>(first_process.size());
    }

    // Whether the user chose the network, or it is a private network of the job.
    [[nodiscard]] bool is_network_named() const noexcept { return !networks.empty() || is_netns; }

    // The process indexes of this node: first() .. first() + local_procs() - 1.
    [[nodiscard]] std::uint32_t first() const noexcept {
        return first_process.empty() ? 0U : first_process[node];
    }

    [[nodiscard]] std::uint32_t local_procs() const noexcept {
        const bool is_last = node + 1 >= nodes();
        return (is_last ? procs : first_process[node + 1]) - first();
    }

    // The program that a process runs.
    //   process  < procs, in a plan whose programs cover all processes
    [[nodiscard]] const LaunchProgram& program_of(std::uint32_t process) const noexcept;
};

[[nodiscard]] std::string to_bytes(const LaunchPlan& plan);

// Errors: mismatch (another version, an unknown field), argument (an invalid value, no program,
// programs or nodes that do not cover the processes exactly, more than launch_programs_max
// programs).
base::Result<LaunchPlan> launch_plan_from(std::string_view bytes);

// Whether only the launcher may set this variable, which it sets for each rank.
[[nodiscard]] bool is_set_by_launcher(std::string_view name) noexcept;

// Sets a variable among "NAME=VALUE" entries; replaces the value if there is one.
void set_variable(std::vector<std::string>& entries, std::string_view name, std::string_view value);

}  // namespace acp::launch
