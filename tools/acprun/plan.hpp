// SPDX-License-Identifier: BSD-3-Clause
// From options and environment to the plan the agent is sent; everything that can be refused before a
// process is started is refused here. One thread.
#pragma once

#include <variant>

#include "job/launch_plan.hpp"

#include "options.hpp"

namespace acp::run {

struct Refusal {
    int exit_code = 0;
    std::string problem;
    std::string hint;  // may be empty
};

struct PlannedJob {
    job::LaunchPlan plan;
    std::vector<std::string> warnings;  // about the environment
};

// May make the output directory.
std::variant<PlannedJob, Refusal> plan_job(const Options& options);

// What would be started, for people.
[[nodiscard]] std::string describe(const job::LaunchPlan& plan);

}  // namespace acp::run
