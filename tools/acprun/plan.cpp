// SPDX-License-Identifier: BSD-3-Clause
// Checks the user's request against the system.
#include "plan.hpp"

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/config.hpp"
#include "base/parse.hpp"
#include "crypto/choose.hpp"
#include "node/heap_limit.hpp"
#include "os/cpu.hpp"
#include "os/process.hpp"
#include "os/program_file.hpp"
#include "os/random_bytes.hpp"
#include "os/standard_streams.hpp"
#include "os/terminal.hpp"

#include "common/program.hpp"
#include "launch/exit_codes.hpp"
#include "plan_nodes.hpp"
#include "reaching.hpp"

namespace acp::run {

namespace {

std::optional<Refusal> add_exports(const Options& options, launch::LaunchPlan& plan) {
    for (const std::string& wanted : options.exports) {
        const std::size_t equals = wanted.find('=');
        const std::string name = wanted.substr(0, equals);
        if (name.empty()) {
            return Refusal{launch::exit_usage,
                           "-x wants NAME or NAME=VALUE, not \"" + wanted + "\"", ""};
        }
        if (launch::is_set_by_launcher(name)) {
            return Refusal{launch::exit_usage,
                           "-x " + name + ": acprun itself decides this variable for its ranks",
                           ""};
        }
        const auto value = equals == std::string::npos
                               ? tool::variable(name)
                               : std::optional<std::string>(wanted.substr(equals + 1));
        if (!value) {
            return Refusal{launch::exit_usage, "-x " + name + ": the variable is not set",
                           "-x " + name + "=VALUE sets it for the ranks"};
        }
        launch::set_variable(plan.variables, name, *value);
    }
    return std::nullopt;
}

// The environment of the ranks, from which their configuration will be read.
base::Environment future_environment(const launch::LaunchPlan& plan) {
    base::Environment entries = os::environment();
    for (const std::string& entry : plan.variables) {
        const std::size_t equals = entry.find('=');
        launch::set_variable(entries, entry.substr(0, equals), entry.substr(equals + 1));
    }
    return entries;
}

std::optional<Refusal> make_output_directory(const Options& options, launch::LaunchPlan& plan) {
    if (options.output_directory.empty()) return std::nullopt;
    std::error_code error;
    if (!options.is_dry_run) std::filesystem::create_directories(options.output_directory, error);
    if (error) {
        return Refusal{launch::exit_output,
                       "--output " + options.output_directory + ": " + error.message(), ""};
    }
    plan.output_directory = options.output_directory;
    return std::nullopt;
}

// "laptop", "2 nodes of laptop", "3 hosts"
std::string place_of(const PlannedJob& job) {
    const std::size_t nodes = job.nodes.size();
    if (!job.agent_path.empty()) {
        return nodes == 1 ? job.nodes.front().name : std::to_string(nodes) + " hosts";
    }
    return nodes == 1 ? os::host_name() : std::to_string(nodes) + " nodes of " + os::host_name();
}

std::string describe_nodes(const PlannedJob& job) {
    if (job.nodes.size() == 1) return "";
    std::string text;
    for (std::uint32_t i = 0; i < job.nodes.size(); ++i) {
        const launch::LaunchPlan plan = job.plan_of(i);
        const std::uint32_t last = plan.first() + plan.local_procs() - 1;
        text +=
            "\n  " + job.nodes[i].name +
            (job.nodes[i].name.size() < 9 ? std::string(9 - job.nodes[i].name.size(), ' ') : "") +
            " ranks " + std::to_string(plan.first());
        if (last > plan.first()) text += "-" + std::to_string(last);
        if (!plan.addresses.empty()) {
            text += (job.rails > 1 ? ", addresses " : ", address ") + plan.addresses;
        }
        if (!job.nodes[i].host.empty()) text += ", by " + job.ssh.front();
    }
    return text;
}

// If there is a single program, all ranks run it.
std::optional<Refusal> find_programs(const Options& options, launch::LaunchPlan& plan) {
    const std::string search_path = tool::program_path();
    for (const ProgramPart& part : options.programs) {
        const tool::Program program = tool::find_program(part.command.front(), search_path);
        if (program.path.empty()) return Refusal{program.exit_code, program.problem, program.hint};
        plan.programs.push_back({part.procs.value_or(plan.procs), program.path, part.command});
    }
    return std::nullopt;
}

std::string describe_programs(const launch::LaunchPlan& plan) {
    std::string text;
    std::uint32_t first = 0;
    for (const launch::LaunchProgram& program : plan.programs) {
        text += "\n  program   " + program.path;
        const std::uint32_t last = first + program.procs - 1;
        if (plan.programs.size() > 1) {
            text += ", rank" + (last > first ? "s " + std::to_string(first) + "-" : " ") +
                    std::to_string(last);
        }
        text += "\n  command  ";
        for (const std::string& argument : program.arguments) text += " " + argument;
        first += program.procs;
    }
    return text;
}

// How many processes share the memory of a machine, where most do.
std::uint32_t most_on_a_machine(const PlannedJob& job) {
    std::uint32_t most = job.common.machine_procs;
    for (std::uint32_t node = 0; node < job.nodes.size(); ++node) {
        most = std::max(most, job.plan_of(node).local_procs());
    }
    return most;
}

}  // namespace

std::variant<PlannedJob, Refusal> plan_job(const Options& options) {
    PlannedJob planned;
    launch::LaunchPlan& plan = planned.common;
    if (auto refusal = refuse_to_be_one_of_several()) return *refusal;
    if (auto refusal = plan_nodes(options, planned)) return *refusal;
    os::fill_random(std::as_writable_bytes(std::span(&plan.job_id, 1)));
    plan.has_tags = options.has_tags;
    plan.is_quiet = options.is_quiet;
    plan.is_bound_to_cores = options.is_bound_to_cores;
    plan.is_continue_on_failure = options.is_continue_on_failure;
    if (auto refusal = add_exports(options, plan)) return *refusal;
    if (options.starter_size)
        launch::set_variable(plan.variables, "ACP_STARTER_SIZE", *options.starter_size);
    if (options.heap_size)
        launch::set_variable(plan.variables, "ACP_HEAP_SIZE", *options.heap_size);
    if (options.rails)
        launch::set_variable(plan.variables, "ACP_RAILS", std::to_string(*options.rails));

    auto parsed = base::parse_config(future_environment(plan));
    if (!parsed.is_ok()) {
        return Refusal{launch::exit_config, std::string(parsed.failure().message()),
                       "acpinfo -c lists the ACP_* variables"};
    }
    planned.warnings = std::move(parsed.value().warnings);
    planned.rails = parsed.value().config.rails;
    give_emulated_addresses(planned);
    if (const std::string& fault = parsed.value().config.fault;
        !fault.empty() && planned.nodes.size() == 1) {
        planned.warnings.push_back("ACP_FAULT=" + fault +
                                   " does nothing in a job on one node; --nodes 2 emulates two");
    }
    const node::HeapSize heap =
        node::heap_size_for(parsed.value().config, plan.procs, most_on_a_machine(planned));
    plan.heap_bytes = heap.bytes;
    plan.heap_bound = static_cast<std::uint32_t>(heap.bound);
    planned.hang_timeout_ns = parsed.value().config.hang_timeout_ns;
    plan.cipher = static_cast<std::uint32_t>(
        crypto::resolve(static_cast<crypto::CipherWish>(parsed.value().config.cipher)));

    if (auto refusal = find_programs(options, plan)) return *refusal;
    constexpr std::size_t columns_default = 80;
    if (os::is_terminal(os::standard_error)) {
        const std::size_t columns = os::terminal_columns(os::standard_error);
        launch::set_variable(plan.variables, "ACP_TERMINAL",
                             std::to_string(columns != 0 ? columns : columns_default));
    }
    const bool is_key_needed = parsed.value().config.security != base::Security::off;
    if (auto refusal = plan_reaching(options, is_key_needed, planned)) return *refusal;
    if (auto refusal = make_output_directory(options, plan)) return *refusal;
    return planned;
}

launch::LaunchPlan PlannedJob::plan_of(std::uint32_t node) const {
    launch::LaunchPlan plan = common;
    plan.node = node;
    plan.addresses = nodes[node].addresses;
    if (nodes[node].host.empty()) plan.directory.clear();
    return plan;
}

std::string PlannedJob::distinct_program_of(std::uint32_t process) const {
    const auto name_of = [](const launch::LaunchProgram& program) -> const std::string& {
        return program.arguments.front();
    };
    const std::string& name = name_of(common.program_of(process));
    const bool is_distinct =
        std::any_of(common.programs.begin(), common.programs.end(),
                    [&](const launch::LaunchProgram& other) { return name_of(other) != name; });
    return is_distinct ? name : "";
}

std::string describe(const PlannedJob& job) {
    const launch::LaunchPlan& plan = job.common;
    std::string text = "would start " + std::to_string(plan.procs) +
                       (plan.procs == 1 ? " rank" : " ranks") + " on " + place_of(job) + ":";
    text += describe_nodes(job);
    text += describe_programs(plan);
    for (const std::string& entry : plan.variables) text += "\n  variable  " + entry;
    text += "\n  cores     " + std::to_string(os::usable_cpus()) + " usable";
    text += plan.is_bound_to_cores
                ? ", rank i on core i modulo " + std::to_string(os::affinity_count())
                : ", ranks not bound";
    text += "\n  output    ";
    text += plan.output_directory.empty()
                ? std::string(plan.has_tags ? "passed on, with tags" : "passed on")
                : plan.output_directory + "/rank.N.out and .err";
    text += "\n  failure   ";
    text += plan.is_continue_on_failure ? "the other ranks continue" : "the other ranks are killed";
    return text + "\n";
}

}  // namespace acp::run
