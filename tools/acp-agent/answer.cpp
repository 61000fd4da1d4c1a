// SPDX-License-Identifier: BSD-3-Clause
// acp-agent --relay, on the far machine.
#include "answer.hpp"

#include <array>
#include <csignal>
#include <string>

#include "base/status.hpp"
#include "os/child.hpp"
#include "os/clock.hpp"
#include "os/log_line.hpp"
#include "os/pipe.hpp"
#include "os/process.hpp"
#include "os/program_file.hpp"
#include "os/signal_fd.hpp"
#include "os/standard_streams.hpp"

#include "launch/exit_codes.hpp"
#include "launch/relay.hpp"

namespace acp::agent {

using base::Result;
using base::Status;
using launch::Relay;
using launch::RelayStream;

namespace {

// time for the agent to end after the connection is gone
constexpr std::uint64_t unheard_ns = 5'000'000'000;

// Starts the agent and gives its streams to the relay. Returns its process id.
Result<int> start_agent(Relay& relay) {
    auto channel = os::make_stream_pair();
    auto input = os::make_pipe();
    auto output = os::make_pipe();
    auto error = os::make_pipe();
    if (!channel.is_ok()) return std::move(channel).failure();
    for (auto* pipe : {&input, &output, &error}) {
        if (!pipe->is_ok()) return std::move(*pipe).failure();
    }
    os::ChildPlan child;
    child.path = os::executable_directory() + "/acp-agent";
    child.arguments = {"acp-agent", "--channel", std::to_string(channel.value().far.get())};
    child.environment = os::environment();
    child.inherited = {channel.value().far.get()};
    child.input = input.value().reading.get();
    child.output = output.value().writing.get();
    child.error = error.value().writing.get();
    child.hears_signals = false;
    auto started = os::start_child(child);
    if (!started.is_ok()) return started;
    auto copy = os::duplicate(channel.value().near.get());
    if (!copy.is_ok()) return std::move(copy).failure();
    auto status = relay.take_from(RelayStream::channel, std::move(channel.value().near));
    if (status.is_ok()) status = relay.give_to(RelayStream::channel, std::move(copy).value());
    if (status.is_ok())
        status = relay.give_to(RelayStream::input, std::move(input.value().writing));
    if (status.is_ok()) {
        status = relay.take_from(RelayStream::output, std::move(output.value().reading));
    }
    if (status.is_ok()) {
        status = relay.take_from(RelayStream::error, std::move(error.value().reading));
    }
    if (!status.is_ok()) return status;
    return started;
}

// Carries as long as the connection lasts, and then for a limited time in which the agent can end
// its ranks. An agent that has not ended by then is stopped, and is killed.
// Passes SIGTERM on to the agent, which asks acprun to end the job.
void carry_to_the_end(Relay& relay, int agent, os::SignalFd& signals) {
    std::uint64_t deadline = os::poll_forever;
    while (!relay.has_sent_all()) {
        const std::uint64_t now = os::now_ns();
        if (deadline == os::poll_forever && relay.is_cut()) deadline = now + unheard_ns;
        if (now >= deadline) return;
        relay.poll(deadline == os::poll_forever ? deadline : deadline - now);
        while (signals.take()) os::send_signal(agent, SIGTERM);
    }
}

int refuse(const Status& status) {
    os::write_line(os::standard_error, "acp-agent: " + std::string(status.message()));
    return launch::exit_unavailable;
}

}  // namespace

int answer() {
    constexpr std::array<int, 1> heard{SIGTERM};
    auto signals = os::SignalFd::create(heard);
    if (!signals.is_ok()) return refuse(signals.failure());
    auto relay = Relay::create(os::FileDescriptor::of_standard_stream(os::standard_input),
                               os::FileDescriptor::of_standard_stream(os::standard_output));
    if (!relay.is_ok()) return refuse(relay.failure());
    if (os::write_all(os::standard_output, launch::relay_greeting) != 0)
        return launch::exit_unavailable;
    if (const auto status = os::adopt_orphans(); !status.is_ok()) return refuse(status);
    const auto agent = start_agent(relay.value());
    if (!agent.is_ok()) return refuse(agent.failure());
    if (auto status = relay.value().wake_for(signals.value().fd()); !status.is_ok()) {
        return refuse(status);
    }
    carry_to_the_end(relay.value(), agent.value(), signals.value());
    if (!relay.value().has_sent_all()) os::end_all_children(os::now_ns() + unheard_ns);
    return os::wait_for_end(agent.value()).shell_code();
}

}  // namespace acp::agent
