// SPDX-License-Identifier: BSD-3-Clause
// The command line: subcommands and options, by CLI11, which no other file of this program knows.
// Main thread only.
#include "options.hpp"

#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/parse.hpp"

#include "common/cli.hpp"
#include "common/guard.hpp"

namespace acp::sim_tool {

namespace {

// "A..B", or one number.
std::string take_seeds(const std::string& text, Options& options) {
    const std::size_t dots = text.find("..");
    const std::string_view whole = text;
    const auto first = base::parse_unsigned(whole.substr(0, dots));
    const auto last =
        dots == std::string::npos ? first : base::parse_unsigned(whole.substr(dots + 2));
    if (!first || !last || *last < *first) return "\"" + text + "\" is not A..B with A <= B";
    options.first_seed = *first;
    options.last_seed = *last;
    return {};
}

void add_scale(cli::App& app, Options& options) {
    app.add_option("--scale", options.scale,
                   "small: 2-8 nodes, short programs; full: 2-64 nodes, long ones")
        ->check(cli::IsMember({"small", "full"}))
        ->capture_default_str();
}

void add_run(cli::App& app, Options& options) {
    cli::App* run =
        app.add_subcommand("run", "run many seeds, each twice; stop at the first violation");
    run->add_option_function<std::string>(
           "--seeds",
           [&options](const std::string& text) {
               const std::string wrong = take_seeds(text, options);
               if (!wrong.empty()) throw cli::ValidationError("--seeds", wrong);
           },
           "first and last seed (default 0..999)")
        ->type_name("A..B");
    add_scale(*run, options);
    run->add_option("--jobs", options.jobs, "threads (default: one per CPU)")
        ->check(cli::Range(1, 1024));
    run->add_flag("--once", options.is_once,
                  "run each seed once only: quicker, but does not detect runs that differ");
    run->add_flag("--all", options.goes_on, "continue after a violation, and count them");
    run->add_flag("--quiet", options.is_quiet, "no progress bar");
}

void add_others(cli::App& app, Options& options) {
    cli::App* replay = app.add_subcommand("replay", "run one seed and print its result");
    replay->add_option("seed", options.seed, "the seed")->required();
    add_scale(*replay, options);
    replay->add_flag("--trace", options.has_story, "print every event");

    cli::App* soak = app.add_subcommand(
        "soak", "one job that runs for hours of virtual time under faults that heal");
    soak->add_option("--hours", options.hours, "virtual time")
        ->check(cli::Range(0.01, 100000.0))
        ->capture_default_str();
    soak->add_option("--seed", options.seed, "seed of all random choices")->capture_default_str();
    soak->add_flag("--quiet", options.is_quiet, "no progress bar");

    cli::App* incast = app.add_subcommand("incast", "many nodes copy to one: drops and shares");
    incast->add_option("--senders", options.senders, "number of sending nodes")
        ->check(cli::Range(1, 200))
        ->capture_default_str();
    incast
        ->add_option("--milliseconds", options.milliseconds, "virtual time after a warm-up of 200")
        ->check(cli::Range(10, 100000))
        ->capture_default_str();
    incast
        ->add_option("--receive-bytes", options.receive_bytes,
                     "size of the receiver's socket buffer")
        ->transform(cli::AsSizeValue(false))
        ->capture_default_str();
    incast
        ->add_option("--datagram", options.datagram_bytes,
                     "longest datagram of each path, in bytes")
        ->check(cli::Range(1472, 65507))
        ->capture_default_str();
    incast
        ->add_option("--pause", options.pause_us,
                     "the receiver does not read for this time, then reads for twice as long, in "
                     "microseconds")
        ->check(cli::Range(0, 100000))
        ->capture_default_str();
    incast
        ->add_option("--silent", options.silent_nodes,
                     "further nodes of the job, which send nothing")
        ->check(cli::Range(0, 100000));
    incast->add_option("--seed", options.seed, "seed of all random choices")->capture_default_str();
}

void add_experiments(cli::App& app, Options& options) {
    cli::App* share = app.add_subcommand(
        "share",
        "one sender beside TCP CUBIC, alone on a short queue, and on a path that becomes longer");
    share->add_option("--control", options.control, "congestion control")
        ->check(cli::IsMember({"delay", "cubic", "newreno"}))
        ->capture_default_str();

    cli::App* chains =
        app.add_subcommand("chains", "chains of seven ordered copies under loss in bursts of 8");
    chains->add_option("--loss", options.loss, "lost share of the datagrams")
        ->check(cli::Range(0.0, 0.5))
        ->capture_default_str();
    chains->add_option("--chains", options.chains, "number of chains, one after the other")
        ->check(cli::Range(1, 100000))
        ->capture_default_str();
    chains->add_option("--seed", options.seed, "seed of all random choices")->capture_default_str();
}

void add_plan(cli::App& app, Options& options) {
    cli::App* plan = app.add_subcommand(
        "plan",
        "an exchange on a network: its plan, lower bounds, and the plans of all schedulers");
    plan->add_option("pattern", options.pattern, "file with the messages of a node")->required();
    plan->add_option("network", options.network, "file with a torus")->required();
    plan->add_option("--scheduler", options.scheduler, "the scheduler whose plan is shown")
        ->capture_default_str();
    plan->add_option("--svg", options.svg, "draw the plan to this file")->type_name("FILE");
    plan->add_flag(
        "--exact", options.is_exact,
        "the best packing of whole messages, by CP-SAT of OR-tools (pip install ortools)");
}

void add_calibrate(cli::App& app, Options& options) {
    cli::App* calibrate = app.add_subcommand(
        "calibrate", "fit the rates and costs of a network to exchanges that were measured");
    calibrate->add_option("timings", options.timings, "file with exchanges and their times")
        ->required();
    calibrate->add_option("network", options.network, "file with a first guess of the network")
        ->required();
    calibrate->add_option("--output", options.output, "write the fitted network to this file")
        ->type_name("FILE");
}

}  // namespace

Options parse_options(int argc, char** argv) {
    Options options;
    cli::App app(
        "acpsim - ACP's network protocol under simulated faults\n"
        "A seed determines nodes, links, faults and programs.",
        "acpsim");
    app.add_version_flag();
    app.require_subcommand(1);
    add_run(app, options);
    add_others(app, options);
    add_experiments(app, options);
    add_plan(app, options);
    add_calibrate(app, options);
    try {
        app.parse(argc, argv);
    } catch (const cli::ParseError& failure) {
        const int code = app.exit(failure) == 0 ? 0 : 2;
        std::exit(tool::finish_output(code));  // NOLINT(concurrency-mt-unsafe): no other thread yet
    }
    options.command = app.get_subcommands().front()->get_name();
    return options;
}

}  // namespace acp::sim_tool
