// SPDX-License-Identifier: BSD-3-Clause
// The loop that waits for the agents and the user's signals.
#include "launcher.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/format.hpp"
#include "os/child.hpp"
#include "os/clock.hpp"
#include "os/log_line.hpp"
#include "os/standard_streams.hpp"

#include "launch/exit_codes.hpp"
#include "tokens.hpp"

namespace acp::run {

namespace {

// time for output that is not read, once the job is to end
constexpr std::uint64_t unread_ns = 2'000'000'000;
constexpr std::size_t events_max = 64;

}  // namespace

void say(std::string_view text, std::string_view before) {
    os::write_line(os::standard_error,
                   std::string(before).append("acprun: ").append(base::printable(text)));
}

Launcher::Launcher(PlannedJob job, LaunchOptions options)
    : job_(std::move(job)), options_(options), agents_(job_.nodes.size()) {}

// run::say(), on a line of its own: after the progress line has been removed, and below a line that
// the ranks have not finished.
void Launcher::say(std::string_view text) {
    progress_.clear();
    const auto turn = outputs_.begin_message();
    run::say(text, end_open_line() ? "\n" : "");
}

// Whether output of the ranks ends in the middle of a line where acprun writes its messages; notes
// that the caller ends that line.
bool Launcher::end_open_line() {
    if (outputs_.is_used()) return outputs_.end_open_line();
    AgentLink& agent = agents_.front();  // it writes there itself
    if (!agent.has_open_line) return false;
    agent.has_open_line = false;
    agent.send("newline");
    return true;
}

int Launcher::run() {
    if (auto status = start(); !status.is_ok()) {
        progress_.end();
        say(status.message());
        os::end_all_children(os::now_ns() + patience_ns);
        outputs_.abandon();
        return launch::exit_unavailable;
    }
    loop();
    return end();
}

void Launcher::loop() {
    std::array<os::PollEvent, events_max> events;
    settle();
    while (!is_over()) {
        const std::uint64_t now = os::now_ns();
        const std::uint64_t deadline =
            std::min({deadline_ns_, roll_call_.deadline_ns(), end_watch_.deadline_ns(),
                      progress_.deadline_ns(), meeting_.deadline_ns()});
        const std::uint64_t timeout =
            deadline == os::poll_forever ? os::poll_forever : deadline - std::min(deadline, now);
        const std::size_t count = poll_->wait(events, timeout);
        for (std::size_t i = 0; i < count; ++i) {
            if (events[i].token == token_signal) {
                on_signals();
            } else if (events[i].token == token_output) {
                on_output_news();
            } else {
                on_agent(static_cast<std::uint32_t>(events[i].token));
            }
        }
        on_time();
        settle();
    }
}

void Launcher::on_time() {
    tell_progress();
    settle_roll_call();
    give_up_on_silent();
    tell_stopped_agents();
    give_up_on_meeting();
    if (os::now_ns() < deadline_ns_) return;
    deadline_ns_ = os::poll_forever;
    if (is_finishing_) {
        outputs_.abandon();  // the output is not read
        is_abandoned_ = true;
        return;
    }
    if (fallback_code_ != 0) {
        os::signal_children(SIGKILL);  // an agent does not answer
        return;
    }
    if (!is_time_over_ && have_ranks_started()) return ask_what_runs();
    end_for_timeout();
}

// Agents end their ranks only when all have answered: a rank whose partner on another node has
// ended no longer does what it did.
void Launcher::ask_what_runs() {
    is_time_over_ = true;
    roll_call_.give_up();
    send_all("running?");
    deadline_ns_ = os::now_ns() + answer_ns;
    settle_running();
}

void Launcher::end_for_timeout() {
    is_time_over_ = true;
    end_all("timeout");
    expect_end(launch::exit_timeout);
}

// From now on the agents have a limited time to end the job, in whatever state they are.
void Launcher::expect_end(int fallback_code) {
    if (fallback_code_ != 0) return;
    fallback_code_ = fallback_code;
    deadline_ns_ = os::now_ns() + patience_ns;
}

void Launcher::on_signals() {
    while (const auto signal = signals_->take()) on_signal(*signal);
}

void Launcher::on_signal(int signal) {
    const bool asks_for_end = signal == SIGINT || signal == SIGTERM;
    // the rest of the output is dropped
    if (is_finishing_ && asks_for_end) deadline_ns_ = os::now_ns();
    for (AgentLink& agent : agents_) {
        if (asks_for_end) agent.drop_output();
    }
    if (signal == SIGINT && ++interrupts_ > 1) {
        end_all("kill");
        expect_end(launch::exit_signal_base + SIGINT);
        // the user has interrupted a third time
        if (interrupts_ > 2) os::signal_children(SIGKILL);
        return;
    }
    if (signal == SIGUSR2) {
        roll_call_.ask(agents_, "asked by SIGUSR2");
        return settle_roll_call();
    }
    const std::string line = "signal " + std::to_string(signal);
    const bool stops_or_continues = signal == SIGTSTP || signal == SIGCONT;
    if (!have_ranks_started() && !stops_or_continues) return end_before_ranks(signal);
    if (asks_for_end || signal == SIGHUP || signal == SIGQUIT) asked_signal_ = signal;
    if (asks_for_end) {
        end_all(line);
    } else {
        send_all(line);
    }
}

// Whether each agent gets what acprun sends from now on after what it needs to start its ranks.
bool Launcher::have_ranks_started() const noexcept {
    return agents_.size() == 1 ? is_ready(0) : have_peers_;
}

// No rank can get the signal: it ends the job, as it would end a rank.
void Launcher::end_before_ranks(int signal) {
    asked_signal_ = signal;
    is_ended_before_ranks_ = true;
    fixed_code_ = launch::exit_signal_base + signal;
    end_all("kill");
    expect_end(fixed_code_);
}

void Launcher::on_agent(std::uint32_t node) {
    AgentLink& agent = agents_[node];
    if (agent.is_gone) return;
    const bool is_gone = !agent.channel->receive().is_ok();
    while (const auto line = agent.channel->next_line()) hear(node, *line);
    if (!is_gone) return;
    agent.is_gone = true;
    poll_->remove(agent.channel->fd());
    held_.note_gone(node, outputs_);
    tell_held();
    settle_roll_call();
    settle_running();
    if (agent.ended || agent.is_cut_off || is_ended_before_ranks_) return;
    if (!lost_node_) lost_node_ = node;
    end_others(node, "kill");
}

void Launcher::on_output_news() {
    outputs_.take_news();
    tell_held();
    if (fixed_code_ != 0) return;
    const auto failure = outputs_.failure();
    if (!failure) return;
    fixed_code_ = failure->code;
    if (!failure->text.empty()) say(failure->text);
    end_all("kill");
}

void Launcher::send_all(std::string_view line) const {
    for (const AgentLink& agent : agents_) agent.send(line);
}

// Something failed on a node: ends the job on all others.
void Launcher::end_others(std::uint32_t node, std::string_view line) {
    is_ending_ = true;
    progress_.end();
    for (std::uint32_t other = 0; other < agents_.size(); ++other) {
        if (other == node) continue;
        agents_[other].send(line);
        agents_[other].cut_off();
    }
    end_watch_.ask(agents_);
}

void Launcher::end_all(std::string_view line) {
    is_ending_ = true;
    progress_.end();
    for (AgentLink& agent : agents_) {
        agent.send(line);
        agent.cut_off();
    }
    end_watch_.ask(agents_);
}

// An agent that is stopped, or whose host or connection is frozen, must not keep the job from
// ending. If the job was not asked to end, the agent gets more time, for its ranks may be at work.
void Launcher::give_up_on_silent() {
    std::vector<std::uint32_t> silent = end_watch_.take_silent(agents_);
    if (!is_ending_) {
        tell_awaited(silent);
        std::erase_if(silent,
                      [&](std::uint32_t node) { return agents_[node].silences < silences_max; });
    }
    if (silent.empty()) return;
    for (const std::uint32_t node : silent) {
        poll_->remove(agents_[node].channel->fd());
        agents_[node].give_up();
        held_.note_gone(node, outputs_);
    }
    tell_held();
    tell_silent(silent);
    if (!is_ending_ && !job_.common.is_continue_on_failure) end_all("end");
    settle_roll_call();
    settle_running();
}

// After every event: starts another agent if it may, and checks whether all agents are done or
// gone.
void Launcher::settle() {
    if (const auto status = start_more(); !status.is_ok()) {
        say(status.message());
        fixed_code_ = launch::exit_unavailable;
        end_all("kill");
    }
    if (!is_ending_) choose_addresses();
    if (!is_ending_) tell_peers();
    watch_meeting();
    const auto is_running = [](const AgentLink& agent) { return agent.is_running(); };
    const bool is_complete = is_ending_ || started_ == agents_.size();
    const auto is_busy = [](const AgentLink& agent) {
        return agent.is_running() && !agent.is_done;
    };
    if (is_complete && std::none_of(agents_.begin(), agents_.end(), is_busy)) send_all("leave");
    if (!is_complete || std::any_of(agents_.begin(), agents_.end(), is_running)) return;
    if (is_finishing_) return;
    is_finishing_ = true;
    outputs_.finish();
    const bool is_wanted_over =
        asked_signal_ != 0 || fixed_code_ != 0 || fallback_code_ != 0 || has_given_up_any();
    deadline_ns_ = is_wanted_over ? os::now_ns() + unread_ns : os::poll_forever;
}

bool Launcher::is_over() const noexcept {
    return is_finishing_ && (is_abandoned_ || outputs_.is_complete());
}

}  // namespace acp::run
