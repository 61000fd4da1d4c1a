// SPDX-License-Identifier: BSD-3-Clause
// acpsim: the network protocol under simulated faults. Finds the subcommand and runs it. Main thread only.
#include <cstdio>
#include <exception>

#include "commands.hpp"

int main(int argc, char** argv) {
    using namespace acp::sim_tool;
    try {
        const Options options = parse_options(argc, argv);
        watch_crashes();
        if (options.command == "run") return run_seeds(options);
        if (options.command == "replay") return replay_seed(options);
        if (options.command == "soak") return run_soak(options);
        if (options.command == "share") return run_share(options);
        if (options.command == "chains") return run_chains(options);
        return run_incast(options);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "acpsim: %s\n", failure.what());
        return 1;
    }
}
