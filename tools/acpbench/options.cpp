// SPDX-License-Identifier: BSD-3-Clause
// The command line: subcommands and options, by CLI11, which no other file of this program knows.
// Main thread only.
#include "options.hpp"

#include <algorithm>
#include <string_view>

#include <acp.h>

#include "common/cli.hpp"
#include "experiment.hpp"
#include "system.hpp"

namespace acp::bench {

namespace {

void add_common(cli::App& app, Options& options) {
    app.add_option("--json", options.json,
                   "write the rows to this file, with a header saying where and when")
        ->type_name("FILE");
    app.add_flag("--quick", options.is_quick,
                 "a short run: shows that it works rather than how fast it is");
    app.add_option("--slices", options.slices,
                   "slices per case (10-50 ms each; more give a steadier figure)")
        ->check(cli::Range(1, 10000));
}

void add_sizes(cli::App& app, Options& options) {
    app.add_option("--min", options.bytes_min, "smallest size in bytes (k, M understood)")
        ->transform(cli::AsSizeValue(false))
        ->check(cli::Range(std::uint64_t{1}, std::uint64_t{1} << 30));
    app.add_option("--max", options.bytes_max, "largest size in bytes (k, M understood)")
        ->transform(cli::AsSizeValue(false))
        ->check(cli::Range(std::uint64_t{1}, std::uint64_t{1} << 30));
}

void add_own(cli::App& app, Options& options, std::string_view name) {
    if (name == "copy" || name == "attach") add_sizes(app, options);
    if (name == "copy" || name == "message" || name == "rma" || name == "collective" ||
        name == "ipc") {
        app.add_option("--sizes", options.sizes, "only these sizes, such as 8,4k,4M")
            ->delimiter(',')
            ->transform(cli::AsSizeValue(false))
            ->check(cli::Range(std::uint64_t{1}, std::uint64_t{1} << 30));
    }
    if (name == "copy") {
        app.add_flag("--fine", options.is_fine,
                     "8 bytes in nanoseconds and hot and cold bandwidth, beside memcpy");
        app.add_flag(
            "--all-modes", options.are_all_modes,
            "start a job for every implementation (old, new, bypass, mailbox, attach, auto)");
        app.add_option("--modes", options.modes,
                       "of --all-modes only these, such as old,new,new+bypass")
            ->delimiter(',');
        app.add_flag("--no-streams", options.are_streams_left_out,
                     "only copies that are completed one by one");
        // --all-modes gives it to the jobs that it starts
        app.add_flag("--tell-steps", options.tells_steps)->group("");
    }
    if (name == "sync") {
        app.add_option("--hogs", options.hogs, "computing processes beside the ranks")
            ->check(cli::Range(0, 1024));
        app.add_option("--late", options.late_us,
                       "the last rank computes that many us before each barrier")
            ->check(cli::Range(0, 1000000));
    }
    if (name == "idle") {
        app.add_option("--seconds", options.seconds, "how long all ranks sleep")
            ->check(cli::Range(1, 3600));
    }
    if (name == "laplace") {
        app.add_option("-n,--job-ranks", options.job_ranks,
                       "without acprun: start one job of that many ranks")
            ->check(cli::Range(1, 128));
        app.add_option("--nodes", options.job_nodes, "on that many emulated nodes")
            ->check(cli::Range(1, 128));
    }
    if (name == "memory" || name == "start" || name == "poll") {
        app.add_option("--ranks", options.rank_counts, "numbers of ranks, such as 1,4,16")
            ->delimiter(',')
            ->check(cli::Range(1, 4096));
    }
}

void add_report(cli::App& app, Options& options) {
    cli::App* report =
        app.add_subcommand("report", "one HTML page with plots from the JSON files of a folder");
    report->add_option("--in", options.in, "folder with the files written by --json")
        ->capture_default_str();
    report->add_option("--out", options.out, "the page; default: index.html in that folder");
    report->add_flag("--papers", options.are_papers_shown,
                     "prints each figure that a paper states beside ours");
}

// Without "--acp-NAME VALUE" and "--acp-NAME=VALUE": acp_init's, which CLI11 does not know.
std::vector<cli::Word> own_arguments(int argc, char** argv) {
    std::vector<cli::Word> own;
    for (int i = 1; i < argc; ++i) {
        const std::string_view text = argv[i];
        if (!text.starts_with("--acp-")) {
            own.push_back({argv[i], ""});
        } else if (text.find('=') == std::string_view::npos) {
            ++i;
        }
    }
    return own;
}

}  // namespace

Options parse_options(int argc, char** argv) {
    Options options;
    cli::App app(
        "acpbench - how fast ACP is here, always beside what the machine itself can do\n"
        "Experiments that need ranks are started by acprun, for example:\n"
        "  acprun -n 3 --starter-size 16M acpbench copy",
        "acpbench");
    app.add_version_flag();
    app.require_subcommand(1);
    for (const Experiment& experiment : experiments()) {
        cli::App* command =
            app.add_subcommand(std::string(experiment.name), std::string(experiment.summary));
        command->footer("Type: " + std::string(experiment.usage));
        add_common(*command, options);
        add_own(*command, options, experiment.name);
    }
    add_report(app, options);
    try {
        app.parse(own_arguments(argc, argv));
    } catch (const cli::ParseError& failure) {
        end_process(app.exit(failure) == 0 ? 0 : 2);
    }
    options.experiment = app.get_subcommands().front()->get_name();
    if (!options.sizes.empty()) {
        std::sort(options.sizes.begin(), options.sizes.end());
        options.bytes_min = options.sizes.front();
        options.bytes_max = options.sizes.back();
    }
    if (options.bytes_min > options.bytes_max) {
        std::fprintf(stderr, "acpbench: --min %llu is above --max %llu\n",
                     static_cast<unsigned long long>(options.bytes_min),
                     static_cast<unsigned long long>(options.bytes_max));
        end_process(2);
    }
    return options;
}

}  // namespace acp::bench
