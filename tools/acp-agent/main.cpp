// SPDX-License-Identifier: BSD-3-Clause
// acp-agent: the parent of a node's ranks. acprun starts it and sends the launch plan over an
// inherited descriptor; it has no options for users.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <system_error>

#include "base/parse.hpp"
#include "os/child.hpp"
#include "os/limits.hpp"
#include "os/log_line.hpp"
#include "os/network_namespace.hpp"
#include "os/process.hpp"
#include "os/socket_address.hpp"
#include "os/standard_streams.hpp"

#include "agent.hpp"
#include "answer.hpp"
#include "common/cli.hpp"
#include "common/guard.hpp"
#include "launch/exit_codes.hpp"
#include "reach.hpp"

namespace {

using namespace acp;

// Enters the directory and the network that the plan names.
base::Status take_place(const launch::LaunchPlan& plan) {
    std::error_code error;
    if (!plan.directory.empty()) std::filesystem::current_path(plan.directory, error);
    if (error) {
        return {base::Code::system, "cannot enter " + plan.directory + ": " + error.message()};
    }
    if (!plan.is_netns) return {};
    constexpr std::uint32_t prefix_bits = 16;
    auto addresses = launch::ips_from(plan.addresses);
    if (!addresses.is_ok()) return std::move(addresses).failure();
    return os::join_private_network(plan.node, addresses.value(), prefix_bits);
}

// The failure cannot be sent to acprun: acprun is gone, which needs no message, or the other side
// is not acprun.
int refuse_talk(const base::Status& status) {
    if (status.code() != base::Code::peer) {
        os::write_line(os::standard_error, "acp-agent: " + std::string(status.message()));
    }
    return launch::exit_unavailable;
}

int refuse_plan(const launch::LineChannel& channel, const base::Status& status) {
    const std::string code = std::to_string(launch::exit_unavailable);
    channel.send("error " + code + " " + std::string(status.message()));
    channel.send("ended " + code + " 0 0");
    return launch::exit_unavailable;
}

// This function does not know which allocation was refused memory, so its message names the whole
// node.
int refuse_for_memory(std::uint32_t procs) {
    os::write_line(os::standard_error, "acp-agent: no memory for the node of " +
                                           std::to_string(procs) +
                                           (procs == 1 ? " rank" : " ranks") + " on " +
                                           os::host_name() + os::memory_limit_text().data());
    return launch::exit_unavailable;
}

int serve(int descriptor) {
    if (auto status = os::set_close_on_exec(descriptor); !status.is_ok()) {
        os::write_line(os::standard_error,
                       "acp-agent: --channel: " + std::string(status.message()));
        return launch::exit_usage;
    }
    launch::LineChannel channel((os::FileDescriptor(descriptor)));
    auto key = channel.receive_key();
    if (!key.is_ok()) return refuse_talk(key.failure());
    auto bytes = channel.receive_plan();
    if (!bytes.is_ok()) return refuse_talk(bytes.failure());
    // acprun started the keeper, and knows this process by no other way.
    channel.send("process " + std::to_string(os::own_pid()));
    auto plan = launch::launch_plan_from(bytes.value());
    if (!plan.is_ok()) return refuse_plan(channel, plan.failure());
    if (const auto status = take_place(plan.value()); !status.is_ok()) {
        return refuse_plan(channel, status);
    }
    // Never destroyed: an output thread may be blocked by a reader that never reads.
    const std::uint32_t procs = plan.value().local_procs();
    try {
        auto* agent =
            new agent::Agent(std::move(plan).value(), std::move(key).value(), std::move(channel));
        return agent->run();
    } catch (const std::bad_alloc&) {
        return refuse_for_memory(procs);
    }
}

int stand_for(const agent::Reach& reached, int descriptor) {
    if (auto status = os::set_close_on_exec(descriptor); !status.is_ok()) {
        os::write_line(os::standard_error,
                       "acp-agent: --channel: " + std::string(status.message()));
        return launch::exit_usage;
    }
    return agent::reach(reached, os::FileDescriptor(descriptor));
}

int serve_with(int argc, char** argv) {
    cli::App app("The parent of a node's ranks; started by acprun(1), not by hand.", "acp-agent");
    int descriptor = -1;
    bool is_relay = false;
    agent::Reach reached;
    std::string patience = "30";
    app.add_version_flag();
    app.add_option("--channel", descriptor, "descriptor connected to the launcher");
    app.add_flag("--relay", is_relay, "carry an agent's streams over standard input and output");
    app.add_option("--reach", reached.host, "stand for the agent of this machine");
    app.add_option("--agent", reached.agent, "acp-agent on that machine");
    app.add_option("--by", reached.ssh, "a word of the command that runs another there");
    app.add_option("--patience", patience, "seconds for that machine to answer");
    try {
        app.parse(argc, argv);
        if (descriptor < 0 && !is_relay) throw cli::RequiredError("--channel");
        reached.patience_ns = base::parse_seconds(patience).value_or(0);
    } catch (const cli::Success& answer) {
        return app.exit(answer);
    } catch (const cli::ParseError& error) {
        std::cerr << "acp-agent: " << error.what() << "; acprun(1) starts it\n";
        return launch::exit_usage;
    }
    os::block_all_signals();
    os::ensure_standard_streams();
    if (is_relay) return agent::answer();
    if (!reached.host.empty() && !reached.ssh.empty()) return stand_for(reached, descriptor);
    if (auto status = os::leave_keeper_behind("acp-keeper"); !status.is_ok()) {
        os::write_line(os::standard_error, "acp-agent: " + std::string(status.message()));
        return launch::exit_unavailable;
    }
    return serve(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
    constexpr acp::tool::Guard guard{"acp-agent", acp::launch::exit_unavailable};
    std::_Exit(acp::tool::run_guarded(guard, serve_with, argc, argv));
}
