// SPDX-License-Identifier: BSD-3-Clause
// Experiment `copy --all-modes`: starts one `acpbench copy` job per implementation, the paper's old
// and new ones among them, merges their rows and shows the paper's effects. Runs alone, without
// acprun.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "effects.hpp"
#include "experiment.hpp"
#include "job.hpp"
#include "output.hpp"
#include "system.hpp"

namespace acp::bench {

namespace {

constexpr int steps_per_job = 1000;  // the part of the bar that one job fills

struct Mode {
    const char* label;
    std::vector<std::string> variables;
};

// Every job sets all of them, so that none is inherited.
Mode mode(const char* label,
          const char* intranode,
          const char* mailbox,
          const char* datagram,
          const char* bypass) {
    return {label,
            {std::string("ACP_INTRANODE=") + intranode, std::string("ACP_MAILBOX=") + mailbox,
             std::string("ACP_DATAGRAM=") + datagram, std::string("ACP_BYPASS=") + bypass}};
}

std::vector<Mode> modes() {
    return {
        mode("old", "udp", "pairs", "1408", "off"),
        mode("new", "mailbox", "pairs", "1408", "off"),
        mode("new+bypass", "mailbox", "pairs", "1408", "on"),
        mode("mpsc-1408", "mailbox", "mpsc", "1408", "on"),
        mode("mpsc", "mailbox", "mpsc", "auto", "on"),
        mode("attach", "attach", "mpsc", "auto", "on"),
        mode("auto", "auto", "mpsc", "auto", "on"),
    };
}

std::string part_path(const Options& options, const std::string& label) {
    if (!options.json.empty()) return options.json + "." + label + ".part";
    return (std::filesystem::temp_directory_path() /
            ("acpbench-" + std::to_string(own_process_id()) + "-" + label))
        .string();
}

std::vector<std::string> command_of(const Options& options, const std::string& part) {
    std::vector<std::string> argv = {acprun_path(), "-n",          "3",    "--starter-size",
                                     "16M",         own_path(),    "copy", "--json",
                                     part,          "--tell-steps"};
    if (options.sizes.empty()) {
        argv.insert(argv.end(), {"--min", std::to_string(options.bytes_min), "--max",
                                 std::to_string(options.bytes_max)});
    } else {
        std::string sizes;
        for (const std::uint64_t bytes : options.sizes)
            sizes += (sizes.empty() ? "" : ",") + std::to_string(bytes);
        argv.insert(argv.end(), {"--sizes", sizes});
    }
    if (options.is_quick) argv.emplace_back("--quick");
    if (options.are_streams_left_out) argv.emplace_back("--no-streams");
    if (options.slices > 0) argv.insert(argv.end(), {"--slices", std::to_string(options.slices)});
    return argv;
}

// Reads the lines that the job prints about its steps and draws them as a part of the bar of all
// jobs; returns when the job has closed its output.
void follow_steps(Child& job, const Mode& mode, int jobs_before, Progress& progress) {
    for (std::string line; job.read_line(line);) {
        int done = 0;
        int steps = 0;
        int name_at = 0;
        const std::size_t at = line.find(step_mark);
        if (at == std::string::npos) continue;
        const char* rest = line.c_str() + at + step_mark.size();
        if (std::sscanf(rest, "%d/%d %n", &done, &steps, &name_at) < 2 || steps <= 0) continue;
        progress.show(steps_per_job * jobs_before + steps_per_job * done / steps,
                      std::string(mode.label) + ": " + (rest + name_at));
    }
}

std::vector<Row> run_mode(const Mode& mode,
                          const Options& options,
                          int jobs_before,
                          Progress& progress) {
    const std::string part = part_path(options, mode.label);
    std::vector<std::string> variables = mode.variables;
    variables.emplace_back("ACP_TERMINAL=0");  // one bar is enough
    Child job(command_of(options, part), variables);
    follow_steps(job, mode, jobs_before, progress);
    if (const int code = job.wait(); code != 0) {
        give_up("the job for mode " + std::string(mode.label) + " ended with " +
                std::to_string(code));
    }
    base::Result<ResultFile> result = read_results(part);
    std::filesystem::remove(part);
    if (!result.is_ok()) give_up(std::string(result.failure().message()));
    for (Row& row : result.value().rows) row.mode = mode.label;
    return std::move(result).value().rows;
}

// The modes asked for; ends the process when one is unknown.
std::vector<Mode> chosen_modes(const Options& options) {
    std::vector<Mode> all = modes();
    std::string known;
    for (const Mode& mode : all) known.append(known.empty() ? "" : ", ").append(mode.label);
    for (const std::string& wanted : options.modes) {
        const auto is_it = [&](const Mode& mode) { return mode.label == wanted; };
        if (std::none_of(all.begin(), all.end(), is_it)) {
            std::string text = "there is no mode \"";
            give_up(text.append(wanted).append("\"; there are ").append(known));
        }
    }
    if (options.modes.empty()) return all;
    std::erase_if(all, [&](const Mode& mode) {
        return std::find(options.modes.begin(), options.modes.end(), mode.label) ==
               options.modes.end();
    });
    return all;
}

}  // namespace

int run_copy_modes(const Call& call) {
    const std::vector<Mode> chosen = chosen_modes(call.options);
    std::vector<Row> rows;
    {
        const int jobs = static_cast<int>(chosen.size());
        Progress progress("copy, " + std::to_string(jobs) + " modes", steps_per_job * jobs);
        for (int i = 0; i < jobs; ++i) {
            std::vector<Row> part =
                run_mode(chosen[static_cast<std::size_t>(i)], call.options, i, progress);
            rows.insert(rows.end(), part.begin(), part.end());
        }
    }
    for (const char* memory : {"starter", "registered"}) {
        std::printf("\nThe paper's effects, %s memory\n%s", memory,
                    effects_table(rows, memory).c_str());
    }
    return finish(call.options, rows, false);
}

}  // namespace acp::bench
