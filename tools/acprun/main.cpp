// SPDX-License-Identifier: BSD-3-Clause
// acprun: runs a program as N ranks of a job, on this machine or several. options.cpp has the
// options, plan.cpp the checks before the start, launcher.cpp the running job.
#include <cstdlib>
#include <iostream>

#include "os/process.hpp"
#include "os/standard_streams.hpp"

#include "allocation.hpp"
#include "common/guard.hpp"
#include "launch/exit_codes.hpp"
#include "launcher.hpp"
#include "options.hpp"
#include "plan.hpp"

namespace {

using namespace acp;

int run_with(int argc, char** argv) {
    os::ensure_standard_streams();
    const auto given = run::find_allocation(os::environment(), os::host_name());
    const bool is_allocated = given.is_ok() && given.value() && given.value()->hosts.size() > 1;
    const auto parsed = run::parse_options(argc, argv, is_allocated);
    if (const int* code = std::get_if<int>(&parsed)) return *code;
    const auto& options = std::get<run::Options>(parsed);

    auto planned = run::plan_job(options);
    if (const auto* refusal = std::get_if<run::Refusal>(&planned)) {
        run::say(refusal->problem);
        if (!refusal->hint.empty() && !options.is_quiet) run::say("hint: " + refusal->hint);
        return refusal->exit_code;
    }
    auto& job = std::get<run::PlannedJob>(planned);
    if (!options.is_quiet) {
        for (const std::string& warning : job.warnings) run::say("warning: " + warning);
        for (const std::string& note : job.notes) run::say(note);
    }
    if (options.is_dry_run) {
        std::cout << run::describe(job);
        return 0;
    }
    // Never destroyed: an output thread may be blocked by a reader that never reads.
    const run::LaunchOptions how{options.timeout_ns, options.is_quiet};
    return (new run::Launcher(std::move(job), how))->run();
}

}  // namespace

int main(int argc, char** argv) {
    constexpr acp::tool::Guard guard{"acprun", acp::launch::exit_unavailable};
    std::_Exit(acp::tool::run_guarded(guard, run_with, argc, argv));
}
