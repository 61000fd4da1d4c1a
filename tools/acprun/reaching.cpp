// SPDX-License-Identifier: BSD-3-Clause
// Chooses the command, and looks whether the key may go that way.
#include "reaching.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "job/identity.hpp"
#include "os/process.hpp"
#include "os/program_file.hpp"

#include "common/program.hpp"
#include "launch/exit_codes.hpp"
#include "launch/munge.hpp"

namespace acp::run {

namespace {

// Commands that carry what acprun sends in clear text. Any other one is trusted with the key, as
// ssh is.
constexpr std::array<std::string_view, 4> clear_commands{"srun", "blaunch", "rsh", "pbs_tmrsh"};

std::string file_name(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

std::vector<std::string> command_words(const std::string& text) {
    std::vector<std::string> words;
    std::size_t at = 0;
    while ((at = text.find_first_not_of(' ', at)) != std::string::npos) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

std::string ssh_command(const Options& options) {
    return "ssh -x -T -o BatchMode=yes -o ConnectTimeout=" +
           std::to_string(std::max<std::uint64_t>(1, options.ssh_timeout_ns / 1'000'000'000)) +
           " -o ServerAliveInterval=5 -o ServerAliveCountMax=3";
}

// What the user says, else what the batch system has where that is installed, else ssh.
std::string command_for(const Options& options, PlannedJob& job) {
    std::string wanted =
        !options.ssh.empty() ? options.ssh : tool::variable("ACP_SSH").value_or("");
    if (!wanted.empty()) return wanted;
    if (job.batch_command.empty()) return ssh_command(options);
    const std::string program = command_words(job.batch_command).front();
    if (!tool::find_program(program, tool::program_path()).path.empty()) return job.batch_command;
    job.notes.push_back("there is no " + program + " in PATH: the hosts are reached by ssh");
    return ssh_command(options);
}

std::optional<Refusal> choose_command(const Options& options, PlannedJob& job) {
    job.ssh = command_words(command_for(options, job));
    if (job.ssh.empty()) return Refusal{launch::exit_usage, "--ssh wants a command", ""};
    const tool::Program ssh = tool::find_program(job.ssh.front(), tool::program_path());
    if (ssh.path.empty())
        return Refusal{launch::exit_unavailable, "--ssh: " + ssh.problem, ssh.hint};
    // "--" keeps ssh from taking a host's name for an option. Other commands may not know "--".
    const bool is_ssh = file_name(job.ssh.front()) == "ssh";
    if (is_ssh && job.ssh.back() != "--") job.ssh.emplace_back("--");
    job.ssh.front() = ssh.path;
    return std::nullopt;
}

// Seals a key for nothing, so that a refusal comes before anything is started.
std::optional<Refusal> seal_where_needed(bool is_key_needed, PlannedJob& job) {
    const std::string name = file_name(job.ssh.front());
    const bool is_clear =
        std::find(clear_commands.begin(), clear_commands.end(), name) != clear_commands.end();
    job.is_key_sealed = is_clear && is_key_needed;
    if (!job.is_key_sealed) return std::nullopt;
    base::Status problem;
    if (auto key = launch::JobKey::create(); !key.is_ok()) {
        problem = std::move(key).failure();
    } else if (auto sealed = launch::seal_key(key.value()); !sealed.is_ok()) {
        problem = std::move(sealed).failure();
    }
    if (problem.is_ok()) return std::nullopt;
    return Refusal{launch::exit_unavailable,
                   name + " carries the job's key in clear text, and MUNGE cannot seal it: " +
                       std::string(problem.message()),
                   "--ssh ssh reaches the hosts by ssh; ACP_SECURITY=off with --net needs no key, "
                   "in a network "
                   "whose users you trust"};
}

void pass_variables(PlannedJob& job) {
    for (const std::string& entry : os::environment()) {
        const std::size_t equals = entry.find('=');
        const std::string name = entry.substr(0, equals);
        const bool is_given = std::any_of(job.common.variables.begin(), job.common.variables.end(),
                                          [&](const std::string& other) {
                                              return other.compare(0, equals + 1, name + "=") == 0;
                                          });
        const bool is_for_acprun = name == "ACP_SSH" || launch::is_set_by_launcher(name);
        if (entry.compare(0, 4, "ACP_") == 0 && !is_for_acprun && !is_given)
            job.common.variables.push_back(entry);
    }
}

}  // namespace

std::optional<Refusal> plan_reaching(const Options& options, bool is_key_needed, PlannedJob& job) {
    const auto is_far = [](const PlannedNode& node) { return !node.host.empty(); };
    if (std::none_of(job.nodes.begin(), job.nodes.end(), is_far)) return std::nullopt;
    std::error_code error;
    job.common.directory = std::filesystem::current_path(error).string();
    if (error) {
        return Refusal{launch::exit_unavailable, "the current directory: " + error.message(), ""};
    }
    pass_variables(job);
    if (auto refusal = choose_command(options, job)) return refusal;
    job.ssh_timeout_ns = options.ssh_timeout_ns;
    job.agent_path = !options.agent_path.empty() ? options.agent_path
                                                 : os::executable_directory() + "/acp-agent";
    return seal_where_needed(is_key_needed, job);
}

std::optional<Refusal> refuse_to_be_one_of_several() {
    const auto foreign = job::foreign_job_of(os::environment());
    if (!foreign) return std::nullopt;
    return Refusal{
        launch::exit_usage,
        foreign->variable + " says that another launcher has started acprun " +
            (foreign->procs ? std::to_string(*foreign->procs) + " times" : "") +
            (foreign->procs ? "" : "as a process of a job, perhaps one of several") +
            ": each would start a job of its own",
        "start acprun once, without the other launcher: it finds the hosts of a batch job "
        "by itself; ACP_SINGLETON=1 if several jobs are wanted"};
}

}  // namespace acp::run
