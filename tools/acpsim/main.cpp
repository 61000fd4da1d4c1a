// SPDX-License-Identifier: BSD-3-Clause
// acpsim: the network protocol under simulated faults, and exchanges on modelled networks. Finds
// the subcommand and runs it. Main thread only.
#include "commands.hpp"
#include "common/guard.hpp"

namespace acp::sim_tool {
namespace {

int run(int argc, char** argv) {
    const Options options = parse_options(argc, argv);
    watch_crashes();
    if (options.command == "run") return run_seeds(options);
    if (options.command == "replay") return replay_seed(options);
    if (options.command == "soak") return run_soak(options);
    if (options.command == "share") return run_share(options);
    if (options.command == "chains") return run_chains(options);
    if (options.command == "plan") return run_plan(options);
    if (options.command == "calibrate") return run_calibrate(options);
    return run_incast(options);
}

}  // namespace
}  // namespace acp::sim_tool

int main(int argc, char** argv) {
    return acp::tool::run_guarded({"acpsim", 1}, acp::sim_tool::run, argc, argv);
}
