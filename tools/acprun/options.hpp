// SPDX-License-Identifier: BSD-3-Clause
// acprun's command line. Reads no environment and starts nothing; prints only help, the version,
// and usage errors. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace acp::run {

inline constexpr std::uint32_t ranks_max = 1U << 20U;  // the most ranks that a job may have
inline constexpr std::uint32_t rails_max = 4;

// A program of the job, as the command line names it.
struct ProgramPart {
    std::optional<std::uint32_t> procs;  // ranks that run it; set if the job has several programs
    std::vector<std::string> command;    // its name and its arguments
};

struct Options {
    std::optional<std::uint32_t> procs;  // 1 .. ranks_max, for all programs together
    std::vector<ProgramPart> programs;   // never empty; in the order of the ranks
    std::uint32_t nodes = 1;             // number of nodes emulated on this machine, 1 .. nodes_max
    bool is_emulated = false;            // --nodes was given
    // a batch system has allocated several machines to this job
    bool is_allocated = false;
    bool is_netns = false;               // each emulated node has a private network
    std::optional<std::uint32_t> rails;  // networks between nodes, 1 .. rails_max
    std::string hosts;                   // "a:4,b:4"; "" = this machine
    std::string hostfile;                // "" = none
    std::string networks;                // the interfaces between hosts; a valid text
    std::string ssh;                     // the command; "" = ACP_SSH or ssh
    std::uint64_t ssh_timeout_ns = 30'000'000'000;
    std::string agent_path;  // path of acp-agent on the hosts; "" = as on this machine
    bool may_oversubscribe = false;
    std::vector<std::string> exports;  // "NAME" or "NAME=VALUE"
    // ACP_STARTER_SIZE as the user wrote it, checked to be a size
    std::optional<std::string> starter_size;
    // ACP_HEAP_SIZE as the user wrote it, checked to be a size
    std::optional<std::string> heap_size;
    std::string output_directory;  // "" = none
    std::uint64_t timeout_ns = 0;  // 0 = none
    bool has_tags = false;
    bool is_bound_to_cores = false;
    bool is_continue_on_failure = false;
    bool is_dry_run = false;
    bool is_quiet = false;
};

// Returns the options, or the exit code when there is nothing to run: 0 after --help and --version,
// exit_usage after an error, which has been printed.
//   is_allocated  a batch system has allocated several machines to this job, which count as hosts
std::variant<Options, int> parse_options(int argc, char** argv, bool is_allocated);

}  // namespace acp::run
