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

namespace acp::job {

inline constexpr std::uint32_t launch_plan_version = 1;  // launcher and agent must agree

struct LaunchPlan {
    std::uint32_t procs = 1;             // of the job, all on this node
    std::string program;                 // a path; no search
    std::vector<std::string> arguments;  // of the program, its name first
    std::vector<std::string> variables;  // "NAME=VALUE", set for the ranks beside what they inherit
    std::string output_directory;        // rank.N.out and rank.N.err go there; "" = pass output on
    bool has_tags = false;               // lines begin with "[rank] "
    bool is_bound_to_cores = false;      // rank i to the i-th usable CPU
    bool is_continue_on_failure = false;  // others run on when a rank fails
};

[[nodiscard]] std::string to_bytes(const LaunchPlan& plan);

// Errors: mismatch (another version, an unknown field), argument (a field that does not parse, no program).
base::Result<LaunchPlan> launch_plan_from(std::string_view bytes);

// Sets a variable among "NAME=VALUE" entries; a value already there is replaced.
void set_variable(std::vector<std::string>& entries, std::string_view name, std::string_view value);

}  // namespace acp::job
