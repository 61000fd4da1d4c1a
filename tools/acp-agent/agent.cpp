// SPDX-License-Identifier: BSD-3-Clause
// The agent's loop: waits for events and calls their handlers.
#include "agent.hpp"

#include <algorithm>
#include <csignal>

#include "os/clock.hpp"

#include "launch/exit_codes.hpp"
#include "tokens.hpp"

namespace acp::agent {

namespace {

constexpr std::size_t events_max = 64;

}  // namespace

int Agent::run() {
    auto status = prepare();
    if (status.is_ok()) {
        if (plan_.nodes() == 1) {
            status = launch();
        } else {
            phase_ = Phase::meeting;
            status = begin_meeting();
        }
    }
    if (!status.is_ok()) {
        if (!poll_ || !signals_) {  // there is no way to wait for events, and nothing was started
            channel_.send("error " + std::to_string(launch::exit_unavailable) + " " +
                          std::string(status.message()));
            channel_.send("ended " + std::to_string(launch::exit_unavailable) + " 0 0");
            return launch::exit_unavailable;
        }
        give_up(status);
    }
    loop();
    return end();
}

void Agent::loop() {
    std::array<os::PollEvent, events_max> events;
    obey_all();  // lines that came with the plan, or while the ranks were started
    settle();
    while (phase_ != Phase::over) {
        const std::uint64_t now = os::now_ns();
        const std::uint64_t deadline = next_deadline_ns();
        const std::uint64_t timeout =
            deadline == os::poll_forever ? os::poll_forever : deadline - std::min(deadline, now);
        const std::size_t count = poll_->wait(events, timeout);
        for (std::size_t i = 0; i < count; ++i) dispatch(events[i].token);
        on_time(os::now_ns());
        settle();
    }
}

void Agent::dispatch(std::uint64_t token) {
    switch (token) {
        case token_command:
            on_command();
            break;
        case token_signal:
            on_signal();
            break;
        case token_stdout:
        case token_stderr:
            on_output_news();
            break;
        case token_terminal:
            pump_.on_readable(os::now_ns());
            break;
        case token_rank_0_input:
            pump_.on_writable();
            break;
        case token_life:
            on_lives_lost(os::now_ns());
            break;
        case token_file_request:
            requests_->on_readable();
            break;
        default:
            on_rank_ended(static_cast<std::uint32_t>(token));
            break;
    }
}

std::uint64_t Agent::next_deadline_ns() const noexcept {
    return std::min({deadline_ns_, pump_.deadline_ns(), lives_.deadline_ns(), hangs_.deadline_ns(),
                     stops_.deadline_ns()});
}

void Agent::on_time(std::uint64_t now_ns) {
    if (now_ns >= deadline_ns_) on_deadline(now_ns);
    if (now_ns >= pump_.deadline_ns()) pump_.on_time();
    if (now_ns >= lives_.deadline_ns()) on_lives_lost(now_ns);
    if (now_ns >= hangs_.deadline_ns() && hangs_.look(now_ns)) channel_.send("hang");
    if (now_ns >= stops_.deadline_ns()) look_for_stops(now_ns);
}

void Agent::on_signal() {
    while (const auto signal = signals_->take()) {
        if (*signal == SIGTERM)
            channel_.send("asked");  // acprun passes it to the ranks of all nodes
    }
}

int Agent::end() {
    for (const auto& output : outputs_) {
        if (output != nullptr) output->abandon();
    }
    if (is_launcher_lost_) {
        constexpr std::uint64_t patience_ns = 10'000'000'000;
        os::end_all_children(os::now_ns() + patience_ns);
        return launch::exit_signal_base + SIGKILL;
    }
    if (network_ != nullptr) network_->leave();
    int code = failure_code_;
    const bool was_cut_short = code != 0 || !is_output_complete();
    if (asked_signal_ != 0 && failed_ == 0 && was_cut_short) {
        code = launch::exit_signal_base + asked_signal_;
    }
    if (fixed_code_ != 0) code = fixed_code_;
    tell_line_state();  // as the last bytes of output have left it
    channel_.send("ended " + std::to_string(code) + " " + std::to_string(failed_) + " " +
                  std::to_string(ended_by_us_));
    return code;
}

}  // namespace acp::agent
