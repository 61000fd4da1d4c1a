// SPDX-License-Identifier: BSD-3-Clause
// Checking what the user wants against what is there.
#include "plan.hpp"

#include <filesystem>

#include "base/config.hpp"
#include "base/parse.hpp"
#include "job/exit_codes.hpp"
#include "os/cpu.hpp"
#include "os/process.hpp"
#include "os/standard_streams.hpp"
#include "os/terminal.hpp"

#include "program.hpp"

namespace acp::run {

namespace {

constexpr const char* path_default = "/usr/local/bin:/usr/bin:/bin";

std::optional<std::string> variable(const std::string& name) {
    const std::string prefix = name + "=";
    for (const std::string& entry : os::environment()) {
        if (entry.compare(0, prefix.size(), prefix) == 0) return entry.substr(prefix.size());
    }
    return std::nullopt;
}

std::optional<Refusal> add_exports(const Options& options, job::LaunchPlan& plan) {
    for (const std::string& wanted : options.exports) {
        const std::size_t equals = wanted.find('=');
        const std::string name = wanted.substr(0, equals);
        if (name.empty()) {
            return Refusal{job::exit_usage, "-x wants NAME or NAME=VALUE, not \"" + wanted + "\"",
                           ""};
        }
        const auto value = equals == std::string::npos
                               ? variable(name)
                               : std::optional<std::string>(wanted.substr(equals + 1));
        if (!value) {
            return Refusal{job::exit_usage, "-x " + name + ": the variable is not set",
                           "-x " + name + "=VALUE sets it for the ranks"};
        }
        job::set_variable(plan.variables, name, *value);
    }
    return std::nullopt;
}

// What the ranks will see, as the configuration is read from it.
base::Environment future_environment(const job::LaunchPlan& plan) {
    base::Environment entries = os::environment();
    for (const std::string& entry : plan.variables) {
        const std::size_t equals = entry.find('=');
        job::set_variable(entries, entry.substr(0, equals), entry.substr(equals + 1));
    }
    return entries;
}

std::optional<Refusal> make_output_directory(const Options& options, job::LaunchPlan& plan) {
    if (options.output_directory.empty()) return std::nullopt;
    std::error_code error;
    if (!options.is_dry_run) std::filesystem::create_directories(options.output_directory, error);
    if (error) {
        return Refusal{job::exit_output,
                       "--output " + options.output_directory + ": " + error.message(), ""};
    }
    plan.output_directory = options.output_directory;
    return std::nullopt;
}

}  // namespace

std::variant<PlannedJob, Refusal> plan_job(const Options& options) {
    PlannedJob planned;
    job::LaunchPlan& plan = planned.plan;
    plan.procs = options.procs;
    plan.arguments = options.command;
    plan.has_tags = options.has_tags;
    plan.is_bound_to_cores = options.is_bound_to_cores;
    plan.is_continue_on_failure = options.is_continue_on_failure;
    if (auto refusal = add_exports(options, plan)) return *refusal;
    if (options.starter_size)
        job::set_variable(plan.variables, "ACP_STARTER_SIZE", *options.starter_size);

    auto parsed = base::parse_config(future_environment(plan));
    if (!parsed.is_ok()) {
        return Refusal{job::exit_config, std::string(parsed.failure().message()),
                       "acpinfo -c lists the ACP_* variables"};
    }
    planned.warnings = std::move(parsed.value().warnings);

    const Program program =
        find_program(options.command.front(), variable("PATH").value_or(path_default));
    if (program.path.empty()) return Refusal{program.exit_code, program.problem, program.hint};
    plan.program = program.path;
    constexpr std::size_t columns_default = 80;
    if (os::is_terminal(os::standard_error)) {
        const std::size_t columns = os::terminal_columns(os::standard_error);
        job::set_variable(plan.variables, "ACP_TERMINAL",
                          std::to_string(columns != 0 ? columns : columns_default));
    }
    if (auto refusal = make_output_directory(options, plan)) return *refusal;
    return planned;
}

std::string describe(const job::LaunchPlan& plan) {
    std::string text = "would start " + std::to_string(plan.procs) +
                       (plan.procs == 1 ? " rank" : " ranks") + " on " + os::host_name() +
                       ":\n  program   " + plan.program + "\n  command  ";
    for (const std::string& argument : plan.arguments) text += " " + argument;
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
