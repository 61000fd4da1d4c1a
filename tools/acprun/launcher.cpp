// SPDX-License-Identifier: BSD-3-Clause
// Starting the agent, and the loop that waits for it and for the user.
#include "launcher.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <vector>

#include "base/parse.hpp"
#include "job/exit_codes.hpp"
#include "os/child.hpp"
#include "os/clock.hpp"
#include "os/log_line.hpp"
#include "os/pipe.hpp"
#include "os/process.hpp"
#include "os/program_file.hpp"
#include "os/standard_streams.hpp"

namespace acp::run {

using base::Code;
using base::Status;

namespace {

constexpr std::uint64_t token_signal = 0;
constexpr std::uint64_t token_channel = 1;
constexpr std::uint64_t patience_ns = 10'000'000'000;  // with processes that do not die

}  // namespace

void say(std::string_view text) {
    os::write_line(os::standard_error, "acprun: " + std::string(text));
}

int Launcher::run() {
    if (auto status = start(); !status.is_ok()) {
        say(status.message());
        os::end_all_children(os::now_ns() + patience_ns);
        return job::exit_unavailable;
    }
    loop();
    return end();
}

Status Launcher::start() {
    os::block_all_signals();
    if (auto status = os::adopt_orphans(); !status.is_ok()) return status;
    auto poll = os::PollSet::create();
    if (!poll.is_ok()) return std::move(poll).failure();
    poll_ = std::move(poll).value();
    std::vector<int> heard{SIGTSTP, SIGCONT};
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
        if (!os::is_signal_ignored(signal)) heard.push_back(signal);  // nohup, a shell's "&"
    }
    auto signals = os::SignalFd::create(heard);
    if (!signals.is_ok()) return std::move(signals).failure();
    signals_.emplace(std::move(signals).value());
    if (auto status = poll_->add(signals_->fd(), token_signal); !status.is_ok()) return status;
    if (auto status = start_agent(); !status.is_ok()) return status;
    if (options_.timeout_ns != 0) deadline_ns_ = os::now_ns() + options_.timeout_ns;
    return os::detach_standard_input();  // the job's now
}

Status Launcher::start_agent() {
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
    child.environment = os::environment();
    child.inherited = pair.value().far.get();
    child.hears_signals = false;  // those of the terminal reach it too, and are not for it
    auto started = os::start_child(child);
    if (!started.is_ok()) return std::move(started).failure().within("starting acp-agent");
    agent_pid_ = started.value();
    pair.value().far.close();
    channel_.emplace(std::move(pair.value().near));
    if (auto status = channel_->send_plan(job::to_bytes(plan_)); !status.is_ok()) {
        is_agent_gone_ = true;
        return {};  // end() tells how it ended
    }
    return poll_->add(channel_->fd(), token_channel);
}

void Launcher::loop() {
    std::array<os::PollEvent, 4> events;
    while (!is_agent_gone_) {
        const std::uint64_t now = os::now_ns();
        const std::uint64_t timeout = deadline_ns_ == os::poll_forever
                                          ? os::poll_forever
                                          : deadline_ns_ - std::min(deadline_ns_, now);
        const std::size_t count = poll_->wait(events, timeout);
        for (std::size_t i = 0; i < count; ++i) {
            if (events[i].token == token_signal) {
                on_signals();
            } else {
                on_channel();
            }
        }
        on_time();
    }
}

void Launcher::on_time() {
    if (os::now_ns() < deadline_ns_) return;
    deadline_ns_ = os::poll_forever;
    if (fallback_code_ != 0) {
        os::signal_children(SIGKILL);  // the agent does not answer
        return;
    }
    channel_->send("timeout");
    expect_end(job::exit_timeout);
}

// From now on the agent has a limited time to end the job, whatever state it is in.
void Launcher::expect_end(int fallback_code) {
    if (fallback_code_ != 0) return;
    fallback_code_ = fallback_code;
    deadline_ns_ = os::now_ns() + patience_ns;
}

void Launcher::on_signals() {
    while (const auto signal = signals_->take()) {
        if (*signal == SIGINT && ++interrupts_ > 1) {
            channel_->send("kill");
            expect_end(job::exit_signal_base + SIGINT);
            if (interrupts_ > 2) os::signal_children(SIGKILL);  // the user has no more patience
            continue;
        }
        if (*signal == SIGINT || *signal == SIGTERM) asked_signal_ = *signal;
        channel_->send("signal " + std::to_string(*signal));
    }
}

void Launcher::on_channel() {
    is_agent_gone_ = !channel_->receive().is_ok();
    while (const auto line = channel_->next_line()) hear(*line);
}

int Launcher::end() {
    const os::WaitStatus status = os::wait_for_end(agent_pid_);
    const bool is_clear = os::end_all_children(os::now_ns() + patience_ns);
    if (!is_clear) say("a process of the job does not die and is left behind");
    if (code_) return *code_;
    if (status.is_exit()) {
        say("the agent (process " + std::to_string(agent_pid_) + ") exited with code " +
            std::to_string(status.exit_code()) + " before the job was over; all ranks were ended");
        return job::exit_unavailable;
    }
    say("the agent (process " + std::to_string(agent_pid_) + ") was killed by signal " +
        std::to_string(status.signal()) + " (" + os::signal_name(status.signal()) +
        "); all ranks were ended");
    return fallback_code_ != 0 ? fallback_code_ : status.shell_code();
}

}  // namespace acp::run
