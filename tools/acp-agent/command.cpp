// SPDX-License-Identifier: BSD-3-Clause
// Handles the launcher's commands to a running job.
#include <csignal>

#include "base/parse.hpp"
#include "base/words.hpp"
#include "node/awaited.hpp"
#include "os/clock.hpp"

#include "agent.hpp"
#include "launch/exit_codes.hpp"

namespace acp::agent {

void Agent::on_command() {
    tell_line_state();  // acprun may print the answer
    if (!channel_.receive().is_ok()) {
        is_launcher_lost_ = true;
        phase_ = Phase::over;
        return;
    }
    obey_all();
}

void Agent::obey_all() {
    for (;;) {
        if (awaited_bytes_) {
            const auto bytes = channel_.take_bytes(*awaited_bytes_);
            if (!bytes) return;
            awaited_bytes_.reset();
            on_peers(*bytes);
        }
        const auto line = channel_.next_line();
        if (!line) return;
        obey(*line);
    }
}

void Agent::obey(const std::string& line) {
    const auto words = base::words_of(line, 2);
    if (words[0] == "signal" && words.size() == 2) {
        pass_signal(static_cast<int>(base::parse_unsigned(words[1]).value_or(0)));
    } else if (words[0] == "kill") {
        kill_now();
    } else if (words[0] == "listen" && words.size() == 2) {
        on_listen(words[1]);
    } else if (words[0] == "peers" && words.size() == 2) {
        awaited_bytes_ = base::parse_unsigned(words[1]).value_or(0);
    } else if (words[0] == "end") {
        constexpr std::uint64_t grace_ns = 200'000'000;
        // if it is finishing, the output may take its time
        if (phase_ != Phase::finishing) end_soon(grace_ns);
    } else if (words[0] == "leave") {
        if (phase_ == Phase::staying) phase_ = Phase::over;
    } else if (words[0] == "doings" && words.size() == 2) {
        tell_doings(words[1]);
        channel_.send("told " + std::string(words[1]));
    } else if (words[0] == "newline") {
        message_line_.end_line();
        has_told_open_line_ = false;
    } else if (words[0] == "alive?") {
        channel_.send("alive");
    } else if (words[0] == "running?") {
        tell_doings("0");
        channel_.send("running " + base::rank_ranges(running_ranks()));
    } else if (words[0] == "timeout") {
        if (fixed_code_ == 0) fixed_code_ = launch::exit_timeout;
        constexpr std::uint64_t grace_ns = 200'000'000;
        end_soon(grace_ns);
    }
}

// Sends what each rank of this node does, read from the node segment: the ranks need not help.
void Agent::tell_doings(std::string_view number) const {
    if (!segment_.is_open()) return;
    const std::uint64_t now_ns = os::now_ns();
    const std::string head = "doing " + std::string(number) + " ";
    for (std::uint32_t slot = 0; slot < plan_.local_procs(); ++slot) {
        channel_.send(head + node::to_words(node::look_at(segment_, slot, now_ns)));
    }
}

void Agent::pass_signal(int signal) {
    for (const Rank& rank : ranks_) {
        if (rank.is_running) os::send_signal(rank.pid, signal);
    }
    channel_.send("passed " + std::to_string(signal));
    // The user has stopped the whole job, and knows.
    if (signal == SIGTSTP) stops_.pause();
    if (signal == SIGCONT) stops_.start(os::now_ns());
    const bool asks_for_end = signal == SIGINT || signal == SIGTERM;
    if (asks_for_end || signal == SIGHUP || signal == SIGQUIT) asked_signal_ = signal;
    if (!asks_for_end) return;
    if (phase_ == Phase::finishing) {
        // the output is not read, and the user does not want to wait for that
        phase_ = Phase::over;
    } else if (phase_ == Phase::meeting) {
        kill_now();
    } else if (phase_ == Phase::running) {
        constexpr std::uint64_t grace_ns = 2'000'000'000;
        phase_ = Phase::ending;
        deadline_ns_ = os::now_ns() + grace_ns;
    }
}

std::vector<std::uint32_t> Agent::running_ranks() const {
    std::vector<std::uint32_t> running;
    for (std::uint32_t slot = 0; slot < plan_.local_procs(); ++slot) {
        if (ranks_[slot].is_running) running.push_back(plan_.first() + slot);
    }
    return running;
}

}  // namespace acp::agent
