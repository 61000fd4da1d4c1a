// SPDX-License-Identifier: BSD-3-Clause
// What the command line of acpbench says. Knows nothing of jobs. Main thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace acp::bench {

struct Options {
    std::string experiment;  // the subcommand
    std::string json;        // where rows go; "" nowhere
    bool is_quick = false;   // a run that shows it works rather than how fast it is
    std::uint64_t bytes_min = 4;
    std::uint64_t bytes_max = 4 << 20;
    int slices = 0;  // per case; 0: the experiment's own choice

    bool is_fine = false;            // copy --fine
    bool are_all_modes = false;      // copy --all-modes
    std::vector<std::string> modes;  // copy --modes: of --all-modes only these; none: all
    std::vector<std::uint64_t>
        sizes;  // copy, message, rma, ipc, collective --sizes; none: those of the experiment
    bool are_streams_left_out = false;  // copy --no-streams
    // copy --tell-steps: prints progress as lines, which copy_modes.cpp reads
    bool tells_steps = false;
    int hogs = 0;                     // sync --hogs
    int late_us = 0;                  // sync --late
    int seconds = 5;                  // idle --seconds
    int job_ranks = 0;                // laplace -n; 0: the jobs of the paper's table
    int job_nodes = 1;                // laplace --nodes
    std::vector<int> rank_counts;     // memory, start, poll --ranks
    std::string in = "build/report";  // report --in
    std::string out;                  // report --out; "": index.html in the folder
    bool are_papers_shown = false;    // report --papers
};

// Parses and, for --help, --version and mistakes, prints and ends the process. Arguments that
// belong to the library ("--acp-NAME VALUE") are left to acp_init.
[[nodiscard]] Options parse_options(int argc, char** argv);

}  // namespace acp::bench
