// SPDX-License-Identifier: BSD-3-Clause
// Starts an agent and sends to it.
#include "agent_link.hpp"

#include <csignal>

#include "base/parse.hpp"
#include "os/child.hpp"
#include "os/pipe.hpp"
#include "os/process.hpp"
#include "os/program_file.hpp"

namespace acp::run {

using base::Code;
using base::Status;

Status AgentLink::start(const PlannedJob& job,
                        std::uint32_t node,
                        const AgentStreams& streams,
                        std::uint64_t descriptors_max) {
    const std::string path = os::executable_directory() + "/acp-agent";
    if (os::file_kind(path) != os::FileKind::program) {
        return Status(Code::system,
                      "cannot run " + path + ": acp-agent must be installed beside acprun");
    }
    auto pair = os::make_stream_pair();
    if (!pair.is_ok()) return std::move(pair).failure();
    os::ChildPlan child;
    child.path = path;
    child.arguments = {"acp-agent", "--channel", std::to_string(pair.value().far.get())};
    const std::string& host = job.nodes[node].host;
    if (!host.empty()) {
        child.arguments.insert(child.arguments.end(),
                               {"--reach", host, "--agent", job.agent_path, "--patience",
                                base::seconds_text(job.ssh_timeout_ns)});
        for (const std::string& word : job.ssh) child.arguments.push_back("--by=" + word);
    }
    child.environment = os::environment();
    child.inherited = {pair.value().far.get()};
    if (streams.input.is_open()) child.input = streams.input.get();
    if (streams.output.is_open()) child.output = streams.output.get();
    if (streams.error.is_open()) child.error = streams.error.get();
    // signals of the terminal reach the agent too; it must ignore them
    child.hears_signals = false;
    child.descriptors_max = descriptors_max;
    auto started = os::start_child(child);
    if (!started.is_ok()) return std::move(started).failure().within("starting acp-agent");
    pid = started.value();
    is_far = !host.empty();
    channel.emplace(std::move(pair.value().near));
    return {};
}

Status AgentLink::send_plan(const PlannedJob& job, std::uint32_t node, launch::JobKey& key) {
    const bool is_sealed = is_far && job.is_key_sealed;
    auto status = is_sealed ? channel->send_sealed_key(key) : channel->send_key(key);
    if (status.is_ok()) status = channel->send_plan(launch::to_bytes(job.plan_of(node)));
    return status;
}

void AgentLink::cut_off() {
    if (!is_awaited()) return;
    is_cut_off = true;
    os::send_signal(pid, SIGKILL);
}

void AgentLink::give_up() {
    is_given_up = true;
    is_gone = true;
    os::send_signal(pid, SIGKILL);
}

void AgentLink::drop_output() const {
    if (is_running() && is_far && ended) os::send_signal(pid, SIGKILL);
}

}  // namespace acp::run
