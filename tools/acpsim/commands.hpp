// SPDX-License-Identifier: BSD-3-Clause
// The subcommands of acpsim. Each returns the exit code: 0 all held, 1 something did not. Main
// thread; run makes threads of its own.
#pragma once

#include <cstdint>
#include <string>

#include "options.hpp"

namespace acp::sim_tool {

int run_seeds(const Options& options);
int replay_seed(const Options& options);
int run_soak(const Options& options);
int run_incast(const Options& options);
int run_share(const Options& options);
int run_chains(const Options& options);
int run_plan(const Options& options);
int run_calibrate(const Options& options);

// From now on a crash of this thread names the seed. `replay` outlives the thread's runs.
void name_crash(std::uint64_t seed, const std::string& scale) noexcept;

// Installs signal handlers: after a failed assertion or a bad access the process prints the replay
// command of name_crash's seed and ends with 1.
void watch_crashes() noexcept;

// "acpsim replay 7 --scale small --trace"
[[nodiscard]] std::string replay_command(std::uint64_t seed, const std::string& scale);

}  // namespace acp::sim_tool
