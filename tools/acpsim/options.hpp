// SPDX-License-Identifier: BSD-3-Clause
// What the command line of acpsim says. Knows nothing of simulation. Main thread only.
#pragma once

#include <cstdint>
#include <string>

namespace acp::sim_tool {

struct Options {
    std::string command;  // run, replay, soak, incast, share, chains, plan, calibrate
    std::string scale = "small";
    std::uint64_t seed = 0;        // replay; soak and incast too
    std::uint64_t first_seed = 0;  // run
    std::uint64_t last_seed = 999;
    std::uint32_t jobs = 0;  // 0: as many as there are CPUs
    bool is_once = false;    // run: each seed once, so that differing runs go unnoticed
    bool goes_on = false;    // run: after a violation
    bool is_quiet = false;   // run: no bar
    bool has_story = false;  // replay --trace
    double hours = 24;       // soak, of virtual time
    std::uint32_t senders = 16;
    std::uint64_t milliseconds = 500;       // incast, of virtual time
    std::uint64_t receive_bytes = 1 << 20;  // incast
    std::uint32_t datagram_bytes = 1472;    // incast
    std::uint64_t pause_us = 0;             // incast
    std::uint32_t silent_nodes = 0;         // incast
    double loss = 0.3;                      // chains
    std::uint32_t chains = 200;             // chains
    std::string control = "delay";          // share
    std::string pattern;                    // plan, a file
    std::string network;                    // plan and calibrate, a file
    std::string scheduler = "standard";     // plan
    std::string svg;                        // plan; "": no drawing
    bool is_exact = false;                  // plan
    std::string timings;                    // calibrate, a file
    std::string output;                     // calibrate; "": standard output
};

// Parses and, for --help, --version and mistakes, prints and ends the process.
[[nodiscard]] Options parse_options(int argc, char** argv);

}  // namespace acp::sim_tool
