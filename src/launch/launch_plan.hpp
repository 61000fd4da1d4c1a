// SPDX-License-Identifier: BSD-3-Clause
// What a launcher asks a node's agent to start, and its form on the wire: NUL-terminated "name=value"
// fields, so that arguments may hold anything a program can be given. Knows neither the launcher's options
// nor how processes are started. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace acp::launch {

inline constexpr std::uint32_t launch_plan_version = 4;   // launcher and agent must agree
inline constexpr std::size_t launch_programs_max = 1024;  // of a job

// A program, and how many ranks run it: those that follow the ranks of the program before it.
struct LaunchProgram {
    std::uint32_t procs = 1;
    std::string path;                    // no search
    std::vector<std::string> arguments;  // its name first, as the user wrote it
};

struct LaunchPlan {
    std::uint32_t procs = 1;  // of the job
    std::uint32_t node = 0;   // this one
    std::vector<std::uint32_t>
        first_process;  // of each node, ascending from 0; empty: one node has all
    std::uint32_t machine_procs =
        0;                     // on this machine, all its nodes together; 0: those of this node
    std::uint64_t job_id = 0;  // random, the same on all nodes
    std::uint32_t cipher = 0;  // between nodes, the same on all: a crypto::CipherWish, resolved
    std::string address;       // of this node's gateway; "" = those of the machine's interfaces
    std::string networks;      // which interfaces, as NetworkChoice reads it
    std::string directory;     // where the ranks run; "" = where the agent does
    std::vector<LaunchProgram> programs;  // of the job, in the order of the ranks
    std::vector<std::string> variables;  // "NAME=VALUE", set for the ranks beside what they inherit
    std::string output_directory;        // rank.N.out and rank.N.err go there; "" = pass output on
    bool has_tags = false;               // lines begin with "[rank] "
    bool is_bound_to_cores = false;      // rank i to the i-th usable CPU
    bool is_continue_on_failure = false;  // others run on when a rank fails
    bool is_quiet = false;                // no warnings
    bool is_netns = false;  // this node has a network of its own (os/network_namespace.hpp)

    [[nodiscard]] std::uint32_t nodes() const noexcept {
        return first_process.empty() ? 1U : static_cast<std::uint32_t>(first_process.size());
    }

    // Whether the user chose the network, or it is one of the job's own.
    [[nodiscard]] bool is_network_named() const noexcept { return !networks.empty() || is_netns; }

    // The process indexes of this node: first() .. first() + local_procs() - 1.
    [[nodiscard]] std::uint32_t first() const noexcept {
        return first_process.empty() ? 0U : first_process[node];
    }

    [[nodiscard]] std::uint32_t local_procs() const noexcept {
        const bool is_last = node + 1 >= nodes();
        return (is_last ? procs : first_process[node + 1]) - first();
    }

    // What the process of an index runs.   process  below procs, of a plan whose programs share all processes
    [[nodiscard]] const LaunchProgram& program_of(std::uint32_t process) const noexcept;
};

[[nodiscard]] std::string to_bytes(const LaunchPlan& plan);

// Errors: mismatch (another version, an unknown field), argument (a field that does not parse, no program, programs or
// nodes that do not share the processes among them, more than launch_programs_max programs).
base::Result<LaunchPlan> launch_plan_from(std::string_view bytes);

// Whether the launcher sets a variable itself, for each rank, and nobody else does.
[[nodiscard]] bool is_set_by_launcher(std::string_view name) noexcept;

// Sets a variable among "NAME=VALUE" entries; a value already there is replaced.
void set_variable(std::vector<std::string>& entries, std::string_view name, std::string_view value);

}  // namespace acp::launch
