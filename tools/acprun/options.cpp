// SPDX-License-Identifier: BSD-3-Clause
// The options and their allowed values.
#include "options.hpp"

#include <iostream>

#include "base/config.hpp"
#include "base/parse.hpp"
#include "node/heap_limit.hpp"
#include "node/segment.hpp"

#include "common/cli.hpp"
#include "launch/exit_codes.hpp"
#include "launch/launch_plan.hpp"
#include "launch/network_choice.hpp"
#include "parts.hpp"
#include "placement.hpp"

namespace acp::run {

namespace {

constexpr const char* description =
    "Runs a program, or several, as a parallel job: N processes that share one global address "
    "space.";
constexpr const char* footer =
    "Example:\n"
    "  acprun -n 4 --tag ./hello            four ranks, each line of output with its rank\n"
    "  acprun -n 4 --nodes 2 ./hello        as if on two machines, without a second one\n"
    "  acprun --hosts a:4,b:4 ./hello       eight ranks on two machines, by ssh\n"
    "  acprun -n 8 --timeout 60 ./solve in  ended after a minute\n"
    "  acprun -n 1 ./server : -n 7 ./client rank 0 runs one program, ranks 1-7 another\n"
    "Exit code: that of the first rank that failed, 128 + signal, 124 after --timeout, 127 and 126 "
    "when\n"
    "the program is missing or not executable, 64 usage, 69 resources, 78 configuration.\n"
    "More: man acprun; acpinfo -c lists the ACP_* variables.";

// CLI11 sees only the options, not the programs and their arguments.
constexpr const char* usage =
    "Usage: acprun [OPTIONS] [--] PROGRAM [ARGUMENTS...] [: -n N [--] PROGRAM [ARGUMENTS...]]...\n";

// Options as texts, before they are parsed.
struct Texts {
    std::string procs;
    std::string nodes;
    std::string rails;
    std::string ssh_timeout;
    std::string timeout;
    std::string starter_size;
    std::string heap_size;
    std::string bind = "none";
    std::string on_failure = "kill";
};

void declare_nodes(cli::App& app, Options& options, Texts& texts) {
    app.add_option("--nodes", texts.nodes,
                   "spread the ranks over K emulated nodes on this machine, which share no memory")
        ->type_name("K");
    app.add_flag("--netns", options.is_netns,
                 "with --nodes: give each a network of its own (takes root)");
    app.add_option("--rails", texts.rails,
                   "R networks between nodes, which colours choose; default 1")
        ->type_name("R");
    app.add_option("--hosts", options.hosts, "start the ranks on these machines by ssh")
        ->type_name("HOST[:SLOTS],...");
    app.add_option("--hostfile", options.hostfile,
                   "the same from a file: a host per line, with slots=N (also -machinefile)")
        ->type_name("FILE");
    app.add_flag("--oversubscribe", options.may_oversubscribe,
                 "let hosts have more ranks than slots");
    app.add_option("--net", options.networks,
                   "which networks to use between hosts, such as 10.0.0.0/8,!docker0")
        ->type_name("CIDR,...");
    app.add_option("--ssh", options.ssh, "the command that runs another on a host; default ssh")
        ->type_name("COMMAND");
    app.add_option("--ssh-timeout", texts.ssh_timeout, "how long a host may take; default 30")
        ->type_name("SECONDS");
    app.add_option("--agent-path", options.agent_path,
                   "acp-agent on the hosts; default the path it has here")
        ->type_name("FILE");
}

void declare_procs(cli::App& app, std::string& procs) {
    app.add_option(
           "-n,--procs", procs,
           "processes to start, up to 1024 per node (also -np); default 1, or one per node, "
           "or all slots")
        ->type_name("N");
}

void declare(cli::App& app, Options& options, Texts& texts) {
    app.set_help_flag("-h,--help", "print this and end");
    app.add_version_flag();
    declare_procs(app, texts.procs);
    declare_nodes(app, options, texts);
    app.add_flag("--tag", options.has_tags, "put \"[rank] \" before each line of output");
    app.add_option("--output", options.output_directory,
                   "write output to DIR/rank.N.out and DIR/rank.N.err")
        ->type_name("DIR");
    app.add_option("--timeout", texts.timeout, "end the job after this time, with exit code 124")
        ->type_name("SECONDS");
    app.add_option("-x,--export", options.exports,
                   "set a variable for the ranks, or make sure that it is set")
        ->type_name("VAR[=VALUE]")
        ->allow_extra_args(false);
    app.add_option("--bind", texts.bind,
                   "core: rank i runs on the i-th usable CPU only; none (default)")
        ->type_name("core|none");
    app.add_option("--starter-size", texts.starter_size,
                   "starter memory per rank, such as 64K or 1G (also -smemsize)")
        ->type_name("SIZE");
    app.add_option("--heap-size", texts.heap_size,
                   "most memory per rank for acp_malloc, such as 1G (also -smemsize-dl)")
        ->type_name("SIZE");
    app.add_option("--on-failure", texts.on_failure,
                   "when a rank fails: kill the others (default), or let them continue")
        ->type_name("kill|continue");
    app.add_flag("--dry-run", options.is_dry_run, "print what would be started and end");
    app.add_flag("-q,--quiet", options.is_quiet, "no hints and warnings, only errors");
}

void refuse(const std::string& what) {
    throw cli::ValidationError(what);
}

void understand_choices(const Texts& texts, Options& options) {
    if (texts.bind != "core" && texts.bind != "none") {
        refuse("--bind wants core or none, not \"" + texts.bind + "\"");
    }
    if (texts.on_failure != "kill" && texts.on_failure != "continue") {
        refuse("--on-failure wants kill or continue, not \"" + texts.on_failure + "\"");
    }
    options.is_bound_to_cores = texts.bind == "core";
    options.is_continue_on_failure = texts.on_failure == "continue";
}

std::uint32_t number(const char* option,
                     const char* what,
                     const std::string& text,
                     std::uint32_t most) {
    const auto value = base::parse_unsigned(text);
    if (!value || *value < 1 || *value > most) {
        refuse(std::string(option) + " wants a number of " + what + " from 1 to " +
               std::to_string(most) + ", not \"" + text + "\"");
    }
    return static_cast<std::uint32_t>(*value);
}

std::uint64_t seconds(const char* option, const std::string& text) {
    const auto value = base::parse_seconds(text);
    if (!value || *value == 0) {
        refuse(std::string(option) + " wants seconds greater than 0, such as 60 or 0.5, not \"" +
               text + "\"");
    }
    return *value;
}

void understand_nodes(const Texts& texts, Options& options) {
    const bool has_hosts = !options.hosts.empty() || !options.hostfile.empty();
    options.is_emulated = !texts.nodes.empty();
    if (options.is_emulated) options.nodes = number("--nodes", "nodes", texts.nodes, nodes_max);
    if (!texts.nodes.empty() && has_hosts) {
        refuse(
            "--nodes emulates nodes on this machine; with --hosts or --hostfile, each host is one");
    }
    if (!options.hosts.empty() && !options.hostfile.empty()) {
        refuse("--hosts and --hostfile both say where to start");
    }
    if (options.is_netns && texts.nodes.empty()) refuse("--netns goes with --nodes");
    if (!options.networks.empty() && !has_hosts && !options.is_allocated) {
        refuse("--net goes with --hosts or --hostfile");
    }
    if (const auto choice = launch::NetworkChoice::from(options.networks); !choice.is_ok()) {
        refuse("--net: " + std::string(choice.failure().message()));
    }
    if (!texts.rails.empty()) options.rails = number("--rails", "networks", texts.rails, rails_max);
    if (!texts.ssh_timeout.empty()) {
        options.ssh_timeout_ns = seconds("--ssh-timeout", texts.ssh_timeout);
    }
}

// The value of -n in a later part; "" without one.
std::string procs_of(const Part& part) {
    std::string procs;
    cli::App app("", "acprun");
    declare_procs(app, procs);
    app.parse(part.options);
    return procs;
}

// Sets how many ranks run each program, and how many there are in all.
void understand_programs(const Texts& texts, const std::vector<Part>& parts, Options& options) {
    const bool is_one_node = !options.is_emulated && options.hosts.empty() &&
                             options.hostfile.empty() && !options.is_allocated;
    const std::uint32_t most = is_one_node ? node::local_procs_max : ranks_max;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string procs = i == 0 ? texts.procs : procs_of(parts[i]);
        ProgramPart program{std::nullopt, parts[i].command};
        if (!procs.empty()) program.procs = number("-n", "processes", procs, most);
        if (parts.size() > 1 && program.command.empty()) {
            refuse(name_of_part(parts, i) +
                   " of the command line names no program: \":\" stands between parts such as -n N "
                   "PROGRAM; -- before a program passes \":\" to it");
        }
        if (parts.size() > 1 && !program.procs) {
            refuse(name_of_part(parts, i) +
                   " lacks -n: where there are several programs, each part says how many ranks run "
                   "its own");
        }
        sum += program.procs.value_or(0);
        options.programs.push_back(std::move(program));
    }
    if (parts.front().command.empty()) refuse("no program given");
    if (parts.size() > launch::launch_programs_max) {
        refuse("a job runs at most " + std::to_string(launch::launch_programs_max) +
               " programs, not " + std::to_string(parts.size()));
    }
    if (sum > most) {
        refuse("the -n of all programs are " + std::to_string(sum) + " together; a job" +
               (is_one_node ? " on one node" : "") + " has at most " + std::to_string(most) +
               " ranks");
    }
    if (sum > 0) options.procs = static_cast<std::uint32_t>(sum);
}

void understand(const Texts& texts, const std::vector<Part>& parts, Options& options) {
    understand_nodes(texts, options);
    if (!texts.timeout.empty()) options.timeout_ns = seconds("--timeout", texts.timeout);
    if (!texts.starter_size.empty()) {
        const auto bytes = base::parse_size(texts.starter_size);
        if (!bytes || *bytes > node::starter_bytes_max) {
            refuse("--starter-size wants a size from 0 to 1T, such as 64K or 1G, not \"" +
                   texts.starter_size + "\"");
        }
        options.starter_size = texts.starter_size;
    }
    if (!texts.heap_size.empty()) {
        const auto bytes = base::parse_size(texts.heap_size);
        if (texts.heap_size != "auto" && (!bytes || *bytes > node::heap_bytes_max)) {
            refuse("--heap-size wants auto or a size from 0 to 1T, such as 64M or 1G, not \"" +
                   texts.heap_size + "\"");
        }
        options.heap_size = texts.heap_size;
    }
    understand_choices(texts, options);
    understand_programs(texts, parts, options);
}

}  // namespace

std::variant<Options, int> parse_options(int argc, char** argv, bool is_allocated) {
    Options options;
    options.is_allocated = is_allocated;
    Texts texts;
    cli::App app(description, "acprun");
    app.usage(usage);
    app.footer(footer);
    declare(app, options, texts);
    try {
        const std::vector<Part> parts = cut_parts(app, {argv + 1, argv + argc});
        app.parse(parts.front().options);
        understand(texts, parts, options);
    } catch (const cli::Success& answer) {
        return app.exit(answer);
    } catch (const cli::ParseError& error) {
        static_cast<void>(app.exit(error));
        return launch::exit_usage;
    }
    return options;
}

}  // namespace acp::run
