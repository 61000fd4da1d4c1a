// SPDX-License-Identifier: BSD-3-Clause
// Experiment `copy --all-modes`: starts one `acpbench copy` job per implementation, the paper's old and
// new ones among them, merges their rows and shows the paper's effects. Runs alone, without acprun.
#include <cstdio>
#include <filesystem>

#include "effects.hpp"
#include "experiment.hpp"
#include "job.hpp"
#include "output.hpp"
#include "system.hpp"

namespace acp::bench {

namespace {

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

std::vector<Row> run_mode(const Mode& mode, const Options& options) {
    const std::string part = part_path(options, mode.label);
    std::vector<std::string> argv = {acprun_path(),
                                     "-n",
                                     "3",
                                     "--starter-size",
                                     "16M",
                                     own_path(),
                                     "copy",
                                     "--json",
                                     part,
                                     "--min",
                                     std::to_string(options.bytes_min),
                                     "--max",
                                     std::to_string(options.bytes_max)};
    if (options.is_quick) argv.emplace_back("--quick");
    if (options.slices > 0) argv.insert(argv.end(), {"--slices", std::to_string(options.slices)});
    std::vector<std::string> variables = mode.variables;
    variables.emplace_back("ACP_TERMINAL=0");  // one bar is enough
    Child job(argv, variables);
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

}  // namespace

int run_copy_modes(const Call& call) {
    const std::vector<Mode> all = modes();
    std::vector<Row> rows;
    {
        Progress progress("copy in all modes", static_cast<int>(all.size()));
        for (const Mode& mode : all) {
            std::vector<Row> part = run_mode(mode, call.options);
            rows.insert(rows.end(), part.begin(), part.end());
            progress.step(mode.label);
        }
    }
    for (const char* memory : {"starter", "registered"}) {
        std::printf("\nThe paper's effects, %s memory\n%s", memory,
                    effects_table(rows, memory).c_str());
    }
    return finish(call.options, rows, false);
}

}  // namespace acp::bench
