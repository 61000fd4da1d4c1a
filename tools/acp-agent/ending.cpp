// SPDX-License-Identifier: BSD-3-Clause
// Ends a job in limited time, with no process left behind.
#include <algorithm>
#include <cerrno>
#include <csignal>

#include "os/clock.hpp"
#include "os/limits.hpp"
#include "os/process.hpp"

#include "agent.hpp"
#include "launch/exit_codes.hpp"

namespace acp::agent {

namespace {

// time for descendants to end by themselves after the last rank, and again after SIGTERM
constexpr std::uint64_t stragglers_ns = 200'000'000;
// time for output that is not read, once the job is to end
constexpr std::uint64_t unread_ns = 2'000'000'000;
constexpr std::uint64_t unkillable_ns = 5'000'000'000;  // a process in an uninterruptible call

}  // namespace

// Sends SIGTERM to all running ranks; on_deadline() kills the ranks that still run after grace_ns.
void Agent::end_soon(std::uint64_t grace_ns) {
    if (phase_ == Phase::finishing) {
        phase_ = Phase::over;
        return;
    }
    if (phase_ == Phase::meeting) kill_now();
    if (phase_ != Phase::running && phase_ != Phase::lingering) return;
    for (Rank& rank : ranks_) {
        rank.was_ending = rank.is_running && os::is_ending(rank.pid).value_or(false);
    }
    ended_by_us_ = others_running();
    for (const Rank& rank : ranks_) {
        if (rank.is_running) os::send_signal(rank.pid, SIGTERM);
    }
    phase_ = Phase::ending;
    deadline_ns_ = os::now_ns() + grace_ns;
}

void Agent::kill_now() {
    if (phase_ == Phase::finishing || phase_ == Phase::staying) phase_ = Phase::over;
    if (phase_ == Phase::over) return;
    if (phase_ == Phase::running) ended_by_us_ = others_running();
    if (phase_ != Phase::killing) killed_ns_ = os::now_ns();
    phase_ = Phase::killing;
    deadline_ns_ = os::now_ns() + unkillable_ns;
    // without /proc the descendants are not known, but the ranks are
    for (const Rank& rank : ranks_) {
        if (rank.is_running) os::send_signal(rank.pid, SIGKILL);
    }
    os::signal_children(SIGKILL);
}

// The number of ranks that run, are not about to end, and have not failed themselves.
std::uint32_t Agent::others_running() const noexcept {
    return static_cast<std::uint32_t>(std::count_if(
        ranks_.begin(), ranks_.end(),
        [](const Rank& rank) { return rank.is_running && !rank.is_judged && !rank.was_ending; }));
}

// Called when the agent cannot run the job: reports the reason to acprun and kills all ranks that
// it has started.
void Agent::give_up(int code, const std::string& text) {
    if (fixed_code_ == 0) fixed_code_ = code;
    channel_.send("error " + std::to_string(fixed_code_) + " " + text);
    kill_now();
}

void Agent::give_up(const base::Status& status) {
    std::string why(status.message());
    const bool names_limit = why.find("RLIMIT_") != std::string::npos;
    if (status.code() == base::Code::memory && !names_limit) why += os::memory_limit_text().data();
    give_up(launch::exit_unavailable, why);
}

void Agent::on_deadline(std::uint64_t now_ns) {
    switch (phase_) {
        case Phase::ending:
            kill_now();
            break;
        case Phase::lingering:
            os::signal_children(SIGTERM);
            phase_ = Phase::ending;
            deadline_ns_ = now_ns + stragglers_ns;
            break;
        case Phase::killing:
            if (now_ns < killed_ns_ + os::starved_ns && !os::is_any_child_uninterruptible()) {
                deadline_ns_ = now_ns + stragglers_ns;  // they die when they are given a CPU
                break;
            }
            channel_.send(
                "note a process of this job does not die (it waits in the kernel); it is left "
                "behind");
            begin_finishing();
            break;
        case Phase::finishing:
            phase_ = Phase::over;
            break;
        case Phase::meeting:
        case Phase::running:
        case Phase::staying:
        case Phase::over:
            deadline_ns_ = os::poll_forever;
            break;
    }
}

// After every event: checks whether all ranks have ended, and which other processes are left.
void Agent::settle() {
    reap_strangers();
    if (phase_ == Phase::killing) os::signal_children(SIGKILL);  // orphans have become our children
    const bool is_past_ranks =
        phase_ == Phase::finishing || phase_ == Phase::staying || phase_ == Phase::over;
    if (running_ > 0 || phase_ == Phase::meeting || is_past_ranks) return;
    if (!os::has_children()) {
        begin_finishing();
    } else if (phase_ == Phase::running) {
        phase_ = Phase::lingering;
        deadline_ns_ = os::now_ns() + stragglers_ns;
    }
}

void Agent::begin_finishing() {
    const bool is_wanted_over = asked_signal_ != 0 || fixed_code_ != 0;
    phase_ = Phase::finishing;
    deadline_ns_ = is_wanted_over ? os::now_ns() + unread_ns : os::poll_forever;
    for (const auto& output : outputs_) {
        if (output != nullptr) output->finish();
    }
    on_output_news();
}

void Agent::on_output_news() {
    for (const auto& output : outputs_) {
        if (output != nullptr) output->take_news();
    }
    tell_line_state();
    tell_carried();
    if (fixed_code_ == 0) end_for_output();
    if (phase_ == Phase::finishing && is_output_complete()) stay_or_end();
}

void Agent::end_for_output() {
    const auto failure = find_output_failure(outputs_);
    if (!failure) return;
    if (!failure->text.empty()) return give_up(failure->code, failure->text);
    fixed_code_ = failure->code;
    kill_now();
}

// acprun begins its messages with a newline while a line of the ranks is unfinished.
void Agent::tell_line_state() {
    if (message_line_.is_open() == has_told_open_line_) return;
    has_told_open_line_ = !has_told_open_line_;
    channel_.send(has_told_open_line_ ? "line open" : "line ended");
}

// Has the output threads pass on what the process has written; then acprun gets `carried`.
void Agent::carry_output_of(std::uint32_t process) {
    UncarriedReport report{process, {}};
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
        if (outputs_[i] != nullptr) report.requests[i] = outputs_[i]->request_flush();
    }
    uncarried_.push_back(report);
    tell_carried();
}

void Agent::tell_carried() {
    const auto is_carried = [this](const UncarriedReport& report) {
        for (std::size_t i = 0; i < outputs_.size(); ++i) {
            if (outputs_[i] != nullptr && outputs_[i]->flushed() < report.requests[i]) return false;
        }
        tell_line_state();  // as the flush has left it
        std::string carried = "carried " + std::to_string(report.process);
        for (const auto& output : outputs_)
            carried += " " + std::to_string(output != nullptr ? output->left_at() : 0);
        channel_.send(carried);
        return true;
    };
    std::erase_if(uncarried_, is_carried);
}

bool Agent::is_output_complete() const noexcept {
    return std::all_of(outputs_.begin(), outputs_.end(),
                       [](const auto& output) { return output == nullptr || output->is_done(); });
}

}  // namespace acp::agent
