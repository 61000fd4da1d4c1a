// SPDX-License-Identifier: BSD-3-Clause
// Starts the agents, a few at a time, sends each the addresses of its machine at which its gateway
// listens, and then the addresses of all gateways.
#include <algorithm>
#include <csignal>

#include "base/parse.hpp"
#include "os/child.hpp"
#include "os/clock.hpp"
#include "os/descriptor_limit.hpp"
#include "os/network_namespace.hpp"
#include "os/random_bytes.hpp"
#include "os/standard_streams.hpp"
#include "os/terminal.hpp"

#include "launch/exit_codes.hpp"
#include "launch/network_choice.hpp"
#include "launcher.hpp"
#include "tokens.hpp"

namespace acp::run {

using base::Status;

namespace {

constexpr std::uint64_t descriptors_per_node = 3;  // the channel, and the agent's stdout and stderr
constexpr std::uint64_t descriptors_beside = 32;

}  // namespace

Status Launcher::start() {
    os::block_all_signals();
    if (auto status = allow_descriptors(); !status.is_ok()) return status;
    if (auto status = os::adopt_orphans(); !status.is_ok()) return status;
    if (auto status = prepare_events(); !status.is_ok()) return status;
    if (auto status = make_key(); !status.is_ok()) return status;
    if (job_.is_netns) {
        if (auto status = os::make_private_network(job_.rails); !status.is_ok()) {
            return std::move(status).within("--netns");
        }
    }
    if (agents_.size() > 1 || !job_.agent_path.empty()) {
        if (auto status = outputs_.prepare(*poll_, token_output); !status.is_ok()) return status;
    }
    end_watch_.start(os::now_ns());
    if (options_.timeout_ns != 0) deadline_ns_ = os::now_ns() + options_.timeout_ns;
    if (agents_.size() > 1 || !job_.agent_path.empty()) {
        progress_.begin(
            {static_cast<std::uint32_t>(agents_.size()), os::is_terminal(os::standard_error),
             options_.is_quiet, job_.hang_timeout_ns},
            os::now_ns());
    }
    return start_more();
}

// Raises this process's limit of descriptors for the connections to several agents. With one node
// acprun needs few: the agent raises its own limit.
Status Launcher::allow_descriptors() {
    const std::size_t nodes = agents_.size();
    if (nodes == 1) return {};
    const std::uint64_t wanted = nodes * descriptors_per_node + descriptors_beside;
    const os::DescriptorLimit limit = os::raise_descriptor_limit(wanted);
    agents_descriptors_max_ = limit.before;
    if (limit.now >= wanted) return {};
    return {base::Code::limit, std::to_string(nodes) + " nodes need " + std::to_string(wanted) +
                                   " descriptors in acprun, and the hard RLIMIT_NOFILE is " +
                                   std::to_string(limit.now) + " (ulimit -Hn raises it)"};
}

Status Launcher::prepare_events() {
    auto poll = os::PollSet::create();
    if (!poll.is_ok()) return std::move(poll).failure();
    poll_ = std::move(poll).value();
    std::vector<int> heard{SIGTSTP, SIGCONT};
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
        // ignored after nohup or a shell's "&"
        if (!os::is_signal_ignored(signal)) heard.push_back(signal);
    }
    auto signals = os::SignalFd::create(heard);
    if (!signals.is_ok()) return std::move(signals).failure();
    signals_.emplace(std::move(signals).value());
    return poll_->add(signals_->fd(), token_signal);
}

Status Launcher::make_key() {
    auto key = launch::JobKey::create();
    if (!key.is_ok()) return std::move(key).failure();
    key_ = std::move(key).value();
    os::fill_random(key_.bytes());
    return {};
}

// Starts as many agents as may be reached at once. When all have been started, starts the output
// threads and leaves standard input to them.
Status Launcher::start_more() {
    const auto is_awaited = [](const AgentLink& agent) { return agent.is_awaited(); };
    const auto nodes = static_cast<std::uint32_t>(agents_.size());
    if (is_ending_ || started_ == nodes) return {};
    while (started_ < nodes && std::count_if(agents_.begin(), agents_.end(), is_awaited) <
                                   static_cast<std::ptrdiff_t>(reached_at_once_max)) {
        if (auto status = start_agent(started_); !status.is_ok()) return status;
        ++started_;
        tell_progress();
    }
    if (started_ < nodes) return {};
    if (auto status = outputs_.start(); !status.is_ok()) return status;
    return os::detach_standard_input();
}

Status Launcher::start_agent(std::uint32_t node) {
    AgentStreams streams;
    if (outputs_.is_used()) {
        const bool may_ask = node == 0 && os::is_terminal(os::standard_input);
        agent::Passing passing =
            may_ask ? agent::Passing::by_lines_and_questions : agent::Passing::by_lines;
        if (job_.common.procs == 1 && !job_.common.has_tags) passing = agent::Passing::at_once;
        auto made = outputs_.add(passing, job_.nodes[node].name);
        if (!made.is_ok()) return std::move(made).failure();
        streams = std::move(made).value();
    }
    if (node != 0) {
        auto nothing = os::open_null();
        if (!nothing.is_ok()) return std::move(nothing).failure();
        streams.input = std::move(nothing).value();
    }
    AgentLink& agent = agents_[node];
    if (auto status = agent.start(job_, node, streams, agents_descriptors_max_); !status.is_ok())
        return status;
    if (auto status = poll_->add(agent.channel->fd(), node); !status.is_ok()) return status;
    if (!agent.is_far) plan_is_due(node);
    return {};
}

// If the agent is gone, reading its channel shows it. One that is not sent its key ends with its
// channel.
void Launcher::plan_is_due(std::uint32_t node) {
    const auto status = agents_[node].send_plan(job_, node, key_);
    if (status.is_ok() || status.code() == base::Code::peer) return;
    hear_error(node,
               std::to_string(launch::exit_unavailable) + " " + std::string(status.message()));
    agents_[node].give_up();
}

// Whether the agent of a node has answered, in a job of several nodes with what it knows of its
// addresses.
bool Launcher::is_ready(std::uint32_t node) const noexcept {
    const AgentLink& agent = agents_[node];
    return agents_.size() == 1 ? agent.is_running() && !agent.is_awaited()
                               : agent.has_answered(have_chosen_);
}

// Expects answers from all agents until they have been sent the addresses of all nodes. While a
// host is being reached, the process that reaches it has a deadline of its own.
void Launcher::watch_meeting() {
    const auto is_awaited = [](const AgentLink& agent) { return agent.is_awaited(); };
    if (agents_.size() == 1 || is_ending_ || have_peers_ || started_ < agents_.size() ||
        std::any_of(agents_.begin(), agents_.end(), is_awaited)) {
        return meeting_.end();
    }
    std::size_t answers = 0;
    for (const AgentLink& agent : agents_) {
        answers += (agent.interfaces ? 1U : 0U) + (agent.gateway.addresses.empty() ? 0U : 1U);
    }
    meeting_.expect(answers, job_.ssh_timeout_ns, os::now_ns());
}

// Ends the job when an agent has not answered in time.
void Launcher::give_up_on_meeting() {
    if (os::now_ns() < meeting_.deadline_ns()) return;
    meeting_.end();
    const auto silent = std::find_if(agents_.begin(), agents_.end(), [&](const AgentLink& agent) {
        return !agent.has_answered(have_chosen_);
    });
    if (silent == agents_.end()) return;
    refuse_addresses(static_cast<std::uint32_t>(silent - agents_.begin()),
                     "the agent" + silent->process_text() + " has not said within " +
                         base::seconds_text(job_.ssh_timeout_ns) + " s " +
                         (have_chosen_ ? "where its gateway listens" : "which addresses it has") +
                         ": it, its machine or the connection may be stopped; look there, or give "
                         "it longer (acprun --ssh-timeout)");
}

// Prints how many nodes are ready, when a line about that is due.
void Launcher::tell_progress() {
    const std::uint64_t now = os::now_ns();
    if (!progress_.is_due(now)) return;
    constexpr std::uint32_t names_max = 8;
    std::uint32_t ready = 0;
    std::uint32_t missing = 0;
    std::string names;
    for (std::uint32_t node = 0; node < started_; ++node) {
        if (is_ready(node)) {
            ++ready;
        } else if (++missing <= names_max) {
            names += (names.empty() ? "" : ", ") + job_.nodes[node].name;
        }
    }
    if (missing > names_max) names += " and " + std::to_string(missing - names_max) + " more";
    progress_.look(now, started_, ready, names);
}

// When all agents have sent their machines' interfaces, chooses the addresses and sends each agent
// its own.
void Launcher::choose_addresses() {
    const auto has_told = [](const AgentLink& agent) { return agent.interfaces.has_value(); };
    if (have_chosen_ || !std::all_of(agents_.begin(), agents_.end(), has_told)) return;
    have_chosen_ = true;
    std::vector<launch::Interfaces> all;
    for (AgentLink& agent : agents_) all.push_back(*agent.interfaces);
    auto choice = launch::NetworkChoice::from(job_.common.networks);
    if (!choice.is_ok()) {
        const auto failure = std::move(choice).failure().within("--net");
        return refuse_addresses(0, failure.message());
    }
    launch::GatewayTable chosen = choice.value().choose(all, job_.rails);
    for (std::uint32_t node = 0; node < agents_.size(); ++node) {
        const std::size_t fitting = chosen[node].addresses.size();
        if (fitting == 0 || fitting < job_.rails)
            return refuse_addresses(node, why_too_few(node, fitting));
    }
    for (std::uint32_t node = 0; node < agents_.size(); ++node) {
        std::string words;
        for (const os::SocketAddress& address : chosen[node].addresses)
            words += " " + os::ip_text(address);
        agents_[node].gateway.left_out = chosen[node].left_out;
        agents_[node].send("listen" + words);
    }
}

// Ends the job, since the others would not reach a node.
void Launcher::refuse_addresses(std::uint32_t node, std::string_view why) {
    hear_error(node, std::to_string(launch::exit_unavailable) + " " + std::string(why));
    fixed_code_ = launch::exit_unavailable;
    end_all("kill");
}

std::string Launcher::why_too_few(std::uint32_t node, std::size_t fitting) const {
    const std::string present = launch::text_of(*agents_[node].interfaces);
    const std::string& wish = job_.common.networks;
    if (job_.rails == 1)
        return "no address of this machine fits --net " + wish + "; there are " + present;
    return std::to_string(job_.rails) + " rails (acprun --rails) take as many addresses; of " +
           present + " fit " + std::to_string(fitting) + (wish.empty() ? "" : " --net " + wish) +
           " (a bridge or veth pair of one machine alone is no rail)";
}

// When all agents have sent where they listen, sends the table to all.
void Launcher::tell_peers() {
    const auto has_told = [](const AgentLink& agent) { return !agent.gateway.addresses.empty(); };
    if (have_peers_ || !std::all_of(agents_.begin(), agents_.end(), has_told)) return;
    have_peers_ = true;
    progress_.end();
    launch::GatewayTable table;
    for (const AgentLink& agent : agents_) table.push_back(agent.gateway);
    const std::string bytes = launch::to_bytes(table);
    for (const AgentLink& agent : agents_) {
        if (agent.is_running()) static_cast<void>(agent.channel->send_block("peers", bytes));
    }
}

}  // namespace acp::run
