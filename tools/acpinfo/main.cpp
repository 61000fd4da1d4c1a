// SPDX-License-Identifier: BSD-3-Clause
// acpinfo: prints, as text or JSON, the features that ACP finds on this machine, its configuration,
// and the memory that a job takes. Needs no job and changes nothing. Exit codes: 0, 1 (a file
// cannot be written), 64 (usage), 78 (an ACP_* variable does not fit).
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <vector>

#include "base/config.hpp"
#include "base/version.hpp"
#include "os/process.hpp"
#include "os/terminal.hpp"

#include "common/cli.hpp"
#include "common/guard.hpp"
#include "common/program.hpp"
#include "memory_table.hpp"
#include "print.hpp"
#include "sections.hpp"

namespace acp::acpinfo {
namespace {

constexpr int exit_usage = 64;   // EX_USAGE of sysexits
constexpr int exit_config = 78;  // EX_CONFIG of sysexits
constexpr int standard_output = 1;
// standard output is no terminal: each variable gets one line, for grep
constexpr std::size_t columns_unlimited = 10'000;
constexpr std::size_t columns_unknown = 80;

struct Options {
    bool wants_variables = false;
    bool wants_memory = false;
    std::optional<std::uint64_t> procs;
    std::optional<std::uint64_t> procs_per_node;
    std::string json_file;  // "" = text, "-" = standard output
};

TextStyle terminal_style() {
    TextStyle style;
    if (!os::is_terminal(standard_output)) return style;
    const std::size_t columns = os::terminal_columns(standard_output);
    style.columns = columns == 0 ? columns_unknown : columns;
    const char* const no_color =
        std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): one thread
    style.has_colors = no_color == nullptr || *no_color == '\0';
    return style;
}

int show(const std::string& text) {
    std::cout << text;  // a failure shows at the end (common/guard.hpp)
    return 0;
}

int write_json(const tool::Json& data, const std::string& file) {
    const std::string text = data.dump(2) + "\n";
    if (file == "-") return show(text);
    std::ofstream stream(file);
    stream << text << std::flush;
    if (stream) return 0;
    std::cerr << "acpinfo: cannot write " << file << "\n";
    return tool::exit_output;
}

// The variables that are not at their default; the full list is another page.
Section configuration_section(const std::vector<base::VariableState>& variables) {
    Section section{"configuration", "Configuration", {}};
    for (const base::VariableState& variable : variables) {
        if (variable.origin != "environment") continue;
        section.facts.push_back(
            {variable.name, variable.value + " (default " +
                                (variable.default_value.empty() ? "none" : variable.default_value) +
                                ")"});
    }
    if (section.facts.empty())
        section.facts.push_back({"ACP_*", "all at their defaults; acpinfo -c lists them"});
    return section;
}

int run_memory(const Options& options, const base::Config& config, tool::Json data) {
    const std::uint64_t procs = options.procs.value_or(1);
    const auto shape = shape_of_job(procs, options.procs_per_node.value_or(procs), config);
    if (!shape.is_ok()) {
        std::cerr << "acpinfo: " << shape.failure().message() << "\n";
        return exit_usage;
    }
    if (options.json_file.empty()) return show(memory_text(shape.value(), config.rails));
    data["memory"] = memory_json(shape.value(), config.rails);
    return write_json(data, options.json_file);
}

int run_variables(const Options& options,
                  const std::vector<base::VariableState>& variables,
                  tool::Json data) {
    TextStyle style = terminal_style();
    if (!os::is_terminal(standard_output)) style.columns = columns_unlimited;
    if (options.json_file.empty()) return show(variables_text(variables, style));
    data["variables"] = variables_json(variables);
    return write_json(data, options.json_file);
}

// Whether this is a rank of a job that leaves the answer to rank 0. Tells the user of the nodes
// that are not shown.
bool is_silent_rank() {
    const auto rank = tool::variable("ACP_RANK");
    if (!rank || !tool::variable("ACP_JOB_ID")) return false;
    const std::string nodes = tool::variable("ACP_NODES").value_or("1");
    if (*rank == "0" && nodes != "1") {
        std::cerr << "acpinfo: this is node 0 of " << nodes
                  << "; acprun -n 1 --hosts HOST acpinfo shows another machine\n";
    }
    return *rank != "0";
}

int run(const Options& options) {
    if (is_silent_rank()) return 0;
    const base::Environment environment = os::environment();
    auto parsed = base::parse_config(environment);
    if (!parsed.is_ok()) {
        std::cerr << "acpinfo: " << parsed.failure().message() << "\n";
        return exit_config;
    }
    const base::ParsedConfig& config = parsed.value();
    for (const std::string& warning : config.warnings)
        std::cerr << "acpinfo: warning: " << warning << "\n";
    tool::Json data{{"version", base::version}, {"warnings", config.warnings}};
    const auto variables = base::list_variables(config.config, environment);
    if (options.wants_variables) return run_variables(options, variables, std::move(data));
    if (options.wants_memory) return run_memory(options, config.config, std::move(data));
    Report report{build_section(),
                  machine_section(),
                  paths_section(config.config),
                  network_section(config.config),
                  kernel_section(config.config),
                  hints_section()};
    if (options.json_file.empty()) {
        report.push_back(configuration_section(variables));
        return show(report_text(report, terminal_style()));
    }
    data.update(report_json(report));
    data["variables"] = variables_json(variables);
    return write_json(data, options.json_file);
}

// The message about options that exclude each other; nullptr when there are none.
const char* clash_in(const Options& options) {
    if (options.wants_variables && options.wants_memory) return "--config and --memory: choose one";
    if (!options.wants_memory && (options.procs || options.procs_per_node)) {
        return "-n and --ppn say which job --memory is about; --memory is missing";
    }
    return nullptr;
}

int main_with(int argc, char** argv) {
    cli::App app{
        "Shows what ACP finds on this machine, how it is configured, and what a job takes.",
        "acpinfo"};
    app.add_version_flag();
    Options options;
    app.add_flag("-c,--config", options.wants_variables, "list every ACP_* variable");
    app.add_flag("--memory", options.wants_memory, "show the memory a job takes per rank");
    app.add_option("-n", options.procs, "with --memory: ranks of the job")->type_name("N");
    app.add_option("--ppn", options.procs_per_node,
                   "with --memory: ranks per node, else all on one node")
        ->type_name("P");
    app.add_option("--json", options.json_file,
                   "write JSON to FILE, to standard output if FILE is -")
        ->type_name("FILE");
    app.footer(
        "Exit codes: 0; 64 usage; 74 output cannot be written; 78 an ACP_* variable does not "
        "fit.");
    try {
        app.parse(argc, argv);
    } catch (const cli::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    if (const char* const clash = clash_in(options)) {
        (void)app.exit(cli::ParseError(clash));
        return exit_usage;
    }
    return run(options);
}

}  // namespace
}  // namespace acp::acpinfo

int main(int argc, char** argv) {
    return acp::tool::run_guarded({"acpinfo", EXIT_FAILURE}, acp::acpinfo::main_with, argc, argv);
}
