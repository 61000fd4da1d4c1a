// SPDX-License-Identifier: BSD-3-Clause
// acpstat: shows what the ranks of a running job wait for and the live counters of its gateways, without stopping or
// slowing it: once, or again and again with what changed per second. Changes nothing. Exit codes: 0, 1 (no such job, or nothing may be read),
// 64 (usage). Main thread.
#include <iostream>
#include <map>
#include <optional>
#include <thread>

#include "os/terminal.hpp"

#include "common/cli.hpp"
#include "common/guard.hpp"
#include "job.hpp"
#include "show.hpp"

namespace acp::stat {
namespace {

constexpr int exit_none = 1;
constexpr int exit_usage = 64;  // EX_USAGE of sysexits
constexpr int standard_output = 1;

struct Options {
    std::string job;
    double interval_s = 0;
    int count = 0;
    bool is_json = false;
};

int complain(const std::string& text) {
    std::cerr << "acpstat: " << text << "\n";
    return exit_none;
}

// The job that is meant: the one named, or the only one there is.
base::Result<std::vector<Gateway>> find_job(const Options& options) {
    auto all = find_gateways();
    if (!all.is_ok()) return all;
    if (options.job.empty()) {
        const bool is_one =
            !all.value().empty() && all.value().front().job_id == all.value().back().job_id;
        if (is_one) return all;
        if (all.value().empty()) {
            return base::Status(base::Code::argument,
                                "no job runs on this machine as far as this user may see");
        }
        return base::Status(base::Code::argument,
                            "several jobs run here; name one:\n" + list_text(all.value()));
    }
    return select(std::move(all).value(), options.job);
}

int watch(const Options& options, std::vector<Gateway> gateways) {
    const bool is_terminal = os::is_terminal(standard_output);
    std::map<int, gateway::StatsValues> before;
    for (int round = 0; options.count == 0 || round < options.count; ++round) {
        std::vector<Look> looks;
        for (const Gateway& its : gateways) {
            const auto old = before.find(its.pid);
            looks.push_back({&its, old != before.end() ? &old->second : nullptr});
        }
        if (is_terminal) std::cout << "\033[H\033[J";
        std::cout << job_text(looks) << (is_terminal ? "" : "\n") << std::flush;
        if (!std::cout) return tool::exit_output;
        if (options.count != 0 && round + 1 == options.count) break;
        for (const Gateway& its : gateways) before[its.pid] = its.values;
        std::this_thread::sleep_for(std::chrono::duration<double>(options.interval_s));
        Options same = options;
        same.job = name_of_job(gateways.front().job_id);
        auto found = find_job(same);
        if (!found.is_ok()) {
            std::cout << "the job is over\n";
            return 0;
        }
        gateways = std::move(found).value();
    }
    return 0;
}

int run(const Options& options) {
    auto found = find_job(options);
    if (!found.is_ok()) return complain(std::string(found.failure().message()));
    if (options.is_json) {
        std::cout << job_json(found.value()).dump(2) << "\n";
        return 0;
    }
    if (options.interval_s > 0) return watch(options, std::move(found).value());
    std::vector<Look> looks;
    for (const Gateway& its : found.value()) looks.push_back({&its, nullptr});
    std::cout << job_text(looks);
    return 0;
}

int main_with(int argc, char** argv) {
    cli::App app{
        "Shows what the ranks of a running job wait for, and the counters of its gateways.",
        "acpstat"};
    app.add_version_flag();
    Options options;
    app.add_option("job", options.job,
                   "the start of the job's name (ACP_JOB_ID), or the number of one of its "
                   "processes; needless when one job runs")
        ->type_name("JOB");
    app.add_option("-w,--watch", options.interval_s,
                   "show again every SECONDS (0.1 to 86400), with what changed per second")
        ->type_name("SECONDS")
        ->check(cli::Range(0.1, 86400.0));
    app.add_option("--count", options.count, "with --watch: stop after so many times")
        ->type_name("N")
        ->check(cli::Range(1, 1'000'000));
    app.add_flag("--json", options.is_json, "write everything as JSON, once");
    app.footer("Exit codes: 0; 1 no such job; 64 usage; 74 output cannot be written.");
    try {
        app.parse(argc, argv);
    } catch (const cli::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    if (options.count != 0 && options.interval_s == 0) {
        std::cerr << "acpstat: --count says how often --watch shows the job; --watch is missing\n";
        return exit_usage;
    }
    return run(options);
}

}  // namespace
}  // namespace acp::stat

int main(int argc, char** argv) {
    return acp::tool::run_guarded({"acpstat", acp::stat::exit_none}, acp::stat::main_with, argc,
                                  argv);
}
