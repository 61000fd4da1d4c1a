// SPDX-License-Identifier: BSD-3-Clause
// acpsim plan: a pattern and a network from files; prints the plan of every scheduler's time beside
// the bounds, and one plan in full. Main thread only.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>

#include "base/format.hpp"
#include "exchange/lower_bounds.hpp"

#include "commands.hpp"
#include "exchange_study/drawing.hpp"
#include "exchange_study/pattern_text.hpp"
#include "exchange_study/scheduler_table.hpp"
#include "files.hpp"

namespace acp::sim_tool {

namespace {

constexpr int exit_no_solver = 3;
constexpr std::size_t exact_messages_max = 200;

// Nothing after a failure, which is said.
std::optional<exchange::NodeProblem> problem_of(const Options& options) {
    const auto network = network_in(options.network);
    const auto text = content_of(options.pattern);
    if (!network || !text) return std::nullopt;
    const auto messages = exchange_study::pattern_from_text(*text, network->torus.size());
    if (!network->torus.empty() && !messages.is_ok()) {
        complain(options.pattern, messages.failure().message());
        return std::nullopt;
    }
    // Of a network that is no torus this says so.
    auto problem = exchange::NodeProblem::symmetric(
        *network, messages.is_ok() ? messages.value() : std::vector<exchange::OffsetMessage>());
    if (!problem.is_ok()) {
        complain(network->torus.empty() ? options.network : options.pattern,
                 problem.failure().message());
        return std::nullopt;
    }
    return std::move(problem).value();
}

// What exact.py reads.
std::string exact_input(const exchange::NodeProblem& problem) {
    std::string text = "{\"engines\": " + std::to_string(problem.engines()) +
                       ", \"injection\": " + decimal(problem.node().injection_rate, 3) +
                       ", \"stairs_ns\": [";
    for (unsigned e = 0; e < problem.engines(); ++e)
        text += (e == 0 ? "" : ", ") + decimal(std::ceil(1e3 * e * problem.node().stair_us), 0);
    text += "], \"messages\": [";
    const char* between = "";
    for (const exchange::ProblemMessage& one : problem.messages()) {
        const exchange::RouteClass& its = problem.classes()[one.route_class];
        text += between + std::string("{\"ns\": ") +
                decimal(std::ceil(1e3 * problem.alone_us(one)), 0) +
                ", \"rate\": " + decimal(its.rate_max, 3) + ", \"links\": [";
        const char* between_links = "";
        for (unsigned link = 0; link < problem.link_rates().size(); ++link) {
            if ((its.links >> link & 1) == 0) continue;
            text += between_links + std::to_string(link);
            between_links = ", ";
        }
        text += "]}";
        between = ", ";
    }
    return text + "]}\n";
}

// The line that a command prints; nothing when it fails, whose exit code is set.
std::optional<std::string> line_of(const std::string& command, int& code) {
    std::FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c): the command is ours
    if (pipe == nullptr) return std::nullopt;
    char line[256] = "";
    const bool has_line = std::fgets(line, sizeof line, pipe) != nullptr;
    const int status = pclose(pipe);
    code = status < 0 ? 1 : status >> 8 & 0xFF;
    if (code != 0 || !has_line) return std::nullopt;
    return std::string(line).substr(0, std::string_view(line).find('\n'));
}

// Prints the optimum of whole messages that share no link. Returns the exit code.
int print_exact(const exchange::NodeProblem& problem) {
    if (problem.messages().size() > exact_messages_max) {
        std::fprintf(stderr, "acpsim: --exact takes at most %zu messages\n", exact_messages_max);
        return 2;
    }
    std::error_code error;
    const std::filesystem::path input = std::filesystem::temp_directory_path(error) /
                                        ("acpsim-exact-" + std::to_string(std::random_device()()));
    std::ofstream(input) << exact_input(problem);
    int code = 0;
    const auto line = line_of("python3 -B '" ACP_EXACT_SCRIPT "' < '" + input.string() + "'", code);
    std::filesystem::remove(input, error);
    if (!line) return code == exit_no_solver ? exit_no_solver : 1;
    const double transfer = std::strtod(line->c_str(), nullptr) / 1e3;
    std::printf("exact      %10.2f us  whole messages, no two on one link at once; %s\n",
                exchange::exchange_us(problem, transfer, problem.messages().size()),
                line->ends_with("proven") ? "proven" : "not proven");
    return 0;
}

void print_schedulers(const exchange::NodeProblem& problem, double bound_us) {
    base::Table table({{"scheduler", base::Table::Align::left},
                       {"us", base::Table::Align::right},
                       {"over the bound", base::Table::Align::right},
                       {"method", base::Table::Align::left}});
    for (const exchange_study::SchedulerEntry& scheduler : exchange_study::scheduler_table()) {
        const double time = scheduler.schedule(problem).exchange;
        table.add_row({std::string(scheduler.name), decimal(time, 2),
                       decimal(100 * (time / bound_us - 1), 2) + " %",
                       std::string(scheduler.meaning)});
    }
    std::fputs(table.text().c_str(), stdout);
}

void print_network(const exchange::NodeProblem& problem) {
    double bytes = 0;
    for (const exchange::ProblemMessage& one : problem.messages()) bytes += one.bytes;
    std::printf(
        "%zu messages, %.0f bytes from each node; %u engines of %g MB/s, %g MB/s of a node\n",
        problem.messages().size(), bytes, problem.engines(), problem.node().engine_rate,
        problem.node().injection_rate);
}

}  // namespace

int run_plan(const Options& options) {
    const exchange_study::SchedulerEntry* scheduler =
        exchange_study::scheduler_named(options.scheduler);
    if (scheduler == nullptr) {
        std::fprintf(stderr, "acpsim: there is no scheduler \"%s\"; there are",
                     options.scheduler.c_str());
        for (const exchange_study::SchedulerEntry& one : exchange_study::scheduler_table())
            std::fprintf(stderr, " %s", std::string(one.name).c_str());
        std::fprintf(stderr, "\n");
        return 2;
    }
    const auto problem = problem_of(options);
    if (!problem) return 2;
    const exchange::LowerBounds bounds = exchange::all_bounds(*problem);
    const exchange_study::ScheduledExchange plan = scheduler->schedule(*problem);
    print_network(*problem);
    for (const exchange_study::ExchangePhase& phase : plan.phases) {
        const auto pieces = exchange_study::drawn(phase.problem, phase.queues);
        std::fputs(exchange_study::drawing_text(phase.problem, pieces).c_str(), stdout);
    }
    std::printf("%-10s %10.2f us  %.2f %% over the bound at most\n",
                std::string(scheduler->name).c_str(), plan.exchange,
                100 * (plan.exchange / bounds.most_us() - 1));
    std::printf("bounds     %10.2f us by loads, %.2f by cuts, %.2f by configurations\n",
                bounds.simple_us, bounds.split_us, bounds.configuration_us);
    if (options.is_exact) {
        if (const int code = print_exact(*problem); code != 0) return code;
    }
    if (!options.svg.empty()) {
        const exchange_study::ExchangePhase& phase = plan.phases.front();
        std::ofstream file(options.svg);
        file << exchange_study::drawing_svg(
            phase.problem, exchange_study::drawn(phase.problem, phase.queues), scheduler->name);
        file.close();
        if (!file) {
            complain(options.svg, "cannot be written");
            return 1;
        }
    }
    std::printf("\n");
    print_schedulers(*problem, bounds.most_us());
    return 0;
}

}  // namespace acp::sim_tool
