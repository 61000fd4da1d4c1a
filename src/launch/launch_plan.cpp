// SPDX-License-Identifier: BSD-3-Clause
// Converts a LaunchPlan to bytes and back.
#include "launch/launch_plan.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "base/parse.hpp"

namespace acp::launch {

using base::Code;
using base::Result;
using base::Status;

namespace {

void append(std::string& bytes, std::string_view name, std::string_view value) {
    bytes.append(name).append(1, '=').append(value).append(1, '\0');
}

// The result of filling a field: misfit when the value is invalid for it, unknown when the name is
// unknown.
enum class Taken { yes, misfit, unknown };

Taken take_number(std::uint32_t& field, std::string_view value) {
    const auto number = base::parse_unsigned(value);
    if (!number || *number > UINT32_MAX) return Taken::misfit;
    field = static_cast<std::uint32_t>(*number);
    return Taken::yes;
}

Taken take_long(std::uint64_t& field, std::string_view value) {
    const auto number = base::parse_unsigned(value);
    if (number) field = *number;
    return number ? Taken::yes : Taken::misfit;
}

// "0,4,8"; "" is an empty list.
Taken take_list(std::vector<std::uint32_t>& field, std::string_view value) {
    field.clear();
    while (!value.empty()) {
        const std::size_t comma = value.find(',');
        std::uint32_t number = 0;
        if (take_number(number, value.substr(0, comma)) != Taken::yes) return Taken::misfit;
        field.push_back(number);
        value.remove_prefix(comma == std::string_view::npos ? value.size() : comma + 1);
    }
    return Taken::yes;
}

std::string list_text(const std::vector<std::uint32_t>& numbers) {
    std::string text;
    for (const std::uint32_t number : numbers) {
        if (!text.empty()) text += ',';
        text += std::to_string(number);
    }
    return text;
}

Taken take_flag(bool& field, std::string_view value) {
    if (value != "0" && value != "1") return Taken::misfit;
    field = value == "1";
    return Taken::yes;
}

// The name "program" begins a new program; the other names belong to the program that was begun
// last.
Taken take_of_program(std::vector<LaunchProgram>& programs,
                      std::string_view name,
                      std::string_view value) {
    if (name == "program") {
        if (programs.size() == launch_programs_max) return Taken::misfit;
        programs.push_back({0, std::string(value), {}});
        return Taken::yes;
    }
    if (name != "ranks" && name != "argument") return Taken::unknown;
    if (programs.empty()) return Taken::misfit;
    if (name == "ranks") return take_number(programs.back().procs, value);
    programs.back().arguments.emplace_back(value);
    return Taken::yes;
}

Taken take(LaunchPlan& plan, std::string_view name, std::string_view value) {
    if (name == "procs") return take_number(plan.procs, value);
    if (name == "node") return take_number(plan.node, value);
    if (name == "first") return take_list(plan.first_process, value);
    if (name == "machine") return take_number(plan.machine_procs, value);
    if (name == "heap") return take_long(plan.heap_bytes, value);
    if (name == "heap-bound") return take_number(plan.heap_bound, value);
    if (name == "cipher") return take_number(plan.cipher, value);
    if (name == "job") return take_long(plan.job_id, value);
    if (name == "netns") return take_flag(plan.is_netns, value);
    if (name == "quiet") return take_flag(plan.is_quiet, value);
    if (name == "tags") return take_flag(plan.has_tags, value);
    if (name == "bound") return take_flag(plan.is_bound_to_cores, value);
    if (name == "continue") return take_flag(plan.is_continue_on_failure, value);
    if (name == "addresses") {
        plan.addresses = value;
    } else if (name == "networks") {
        plan.networks = value;
    } else if (name == "directory") {
        plan.directory = value;
    } else if (name == "output") {
        plan.output_directory = value;
    } else if (name == "variable") {
        plan.variables.emplace_back(value);
    } else {
        return take_of_program(plan.programs, name, value);
    }
    return Taken::yes;
}

Status check_version(std::string_view name, std::string_view value) {
    std::uint32_t version = 0;
    if (name == "version" && take_number(version, value) == Taken::yes &&
        version == launch_plan_version) {
        return {};
    }
    return Status(Code::mismatch,
                  "the launcher and the agent are of different builds: expected \"version=" +
                      std::to_string(launch_plan_version) + "\", got \"" + std::string(name) + "=" +
                      std::string(value) + "\"");
}

// Every node has at least one process, and every process is on a node.
bool are_nodes_sound(const LaunchPlan& plan) {
    if (plan.node >= plan.nodes()) return false;
    if (plan.first_process.empty()) return plan.procs >= 1;
    std::uint64_t least = 0;
    for (std::size_t i = 0; i < plan.first_process.size(); ++i) {
        const std::uint32_t first = plan.first_process[i];
        if (i == 0 ? first != 0 : first < least) return false;
        least = std::uint64_t{first} + 1;
    }
    return least <= plan.procs;
}

// Every program can be started and has at least one process, and every process has a program.
Status check_programs(const LaunchPlan& plan) {
    std::uint64_t procs = 0;
    for (const LaunchProgram& program : plan.programs) {
        if (program.path.empty() || program.arguments.empty() || program.procs == 0) {
            return Status(Code::argument, "the launch plan has a program \"" + program.path +
                                              "\" without a path, a name or ranks");
        }
        procs += program.procs;
    }
    if (plan.programs.empty()) return Status(Code::argument, "the launch plan names no program");
    if (procs == plan.procs) return {};
    return Status(Code::argument, "the programs of the launch plan have " + std::to_string(procs) +
                                      " ranks, and the job has " + std::to_string(plan.procs));
}

}  // namespace

const LaunchProgram& LaunchPlan::program_of(std::uint32_t process) const noexcept {
    auto program = programs.begin();
    for (; program != programs.end() && process >= program->procs; ++program) {
        process -= program->procs;
    }
    ACP_ASSERT(program != programs.end());
    return *program;
}

std::string to_bytes(const LaunchPlan& plan) {
    const auto flag = [](bool is_set) { return is_set ? "1" : "0"; };
    std::string bytes;
    append(bytes, "version", std::to_string(launch_plan_version));
    append(bytes, "procs", std::to_string(plan.procs));
    append(bytes, "node", std::to_string(plan.node));
    append(bytes, "first", list_text(plan.first_process));
    append(bytes, "machine", std::to_string(plan.machine_procs));
    append(bytes, "job", std::to_string(plan.job_id));
    append(bytes, "heap", std::to_string(plan.heap_bytes));
    append(bytes, "heap-bound", std::to_string(plan.heap_bound));
    append(bytes, "cipher", std::to_string(plan.cipher));
    append(bytes, "addresses", plan.addresses);
    append(bytes, "networks", plan.networks);
    append(bytes, "netns", flag(plan.is_netns));
    append(bytes, "directory", plan.directory);
    append(bytes, "output", plan.output_directory);
    append(bytes, "quiet", flag(plan.is_quiet));
    append(bytes, "tags", flag(plan.has_tags));
    append(bytes, "bound", flag(plan.is_bound_to_cores));
    append(bytes, "continue", flag(plan.is_continue_on_failure));
    for (const LaunchProgram& program : plan.programs) {
        append(bytes, "program", program.path);
        append(bytes, "ranks", std::to_string(program.procs));
        for (const std::string& argument : program.arguments) append(bytes, "argument", argument);
    }
    for (const std::string& variable : plan.variables) append(bytes, "variable", variable);
    return bytes;
}

Result<LaunchPlan> launch_plan_from(std::string_view bytes) {
    LaunchPlan plan;
    bool is_first = true;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\0');
        const std::string_view field = bytes.substr(0, end);
        const std::size_t equals = field.find('=');
        if (end == std::string_view::npos || equals == std::string_view::npos) {
            return Status(Code::argument, "cut off in the field \"" + std::string(field) + "\"");
        }
        const std::string_view name = field.substr(0, equals);
        const std::string_view value = field.substr(equals + 1);
        bytes.remove_prefix(end + 1);
        if (is_first) {
            if (auto status = check_version(name, value); !status.is_ok()) return status;
            is_first = false;
            continue;
        }
        switch (take(plan, name, value)) {
            case Taken::yes:
                break;
            case Taken::misfit:
                return Status(Code::argument,
                              "field \"" + std::string(field) + "\" does not parse");
            case Taken::unknown:
                return Status(Code::mismatch, "unknown field \"" + std::string(name) + "\"");
        }
    }
    if (auto status = check_programs(plan); !status.is_ok()) return status;
    if (!are_nodes_sound(plan)) {
        return Status(Code::argument,
                      "node " + std::to_string(plan.node) + " of " + std::to_string(plan.nodes()) +
                          " with first processes \"" + list_text(plan.first_process) + "\" of " +
                          std::to_string(plan.procs) + " is no part of a job");
    }
    return plan;
}

bool is_set_by_launcher(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 11> names{
        "ACP_RANK",     "ACP_PROCS",        "ACP_SLOT",        "ACP_NODE",
        "ACP_NODES",    "ACP_NODE_FD",      "ACP_NODE_SOCKET", "ACP_JOB_ID",
        "ACP_TERMINAL", "ACP_NODE_ADDRESS", "ACP_SINGLETON"};
    return std::find(names.begin(), names.end(), name) != names.end();
}

void set_variable(std::vector<std::string>& entries,
                  std::string_view name,
                  std::string_view value) {
    std::string entry(name);
    entry += '=';
    const std::size_t prefix = entry.size();
    entry += value;
    const auto has_name = [&](const std::string& other) {
        return other.compare(0, prefix, entry, 0, prefix) == 0;
    };
    const auto found = std::find_if(entries.begin(), entries.end(), has_name);
    if (found == entries.end()) {
        entries.push_back(std::move(entry));
    } else {
        *found = std::move(entry);
    }
}

}  // namespace acp::launch
