// SPDX-License-Identifier: BSD-3-Clause
// The end of a job: the final messages, and the exit code.
#include <algorithm>
#include <array>
#include <csignal>

#include "base/parse.hpp"
#include "base/words.hpp"
#include "os/child.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

#include "launch/exit_codes.hpp"
#include "launcher.hpp"

namespace acp::run {

int Launcher::end() {
    outputs_.abandon();
    const bool is_timeout = fallback_code_ == launch::exit_timeout;
    if (is_timeout && (!still_running_.empty() || has_given_up_any())) tell_running();
    Ended sum;
    for (const AgentLink& agent : agents_) {
        if (!agent.ended) continue;
        sum.failed += agent.ended->failed;
        sum.killed += agent.ended->killed;
    }
    for (NodeFailure& failure : held_.take_all()) tell_failure(std::move(failure), 0);
    if (!failures_.empty()) tell_failures(sum.killed);
    if (sum.failed > 1) {
        say(std::to_string(sum.failed) + " of " + std::to_string(job_.common.procs) +
            " ranks failed");
    }
    const int code = lost_node_ ? tell_lost() : job_code();
    const bool was_asked = asked_signal_ != 0 && code == launch::exit_signal_base + asked_signal_;
    if (was_asked && !lost_node_ && !options_.is_quiet) {
        say("ended by " + os::signal_name(asked_signal_));
    }
    if (!os::end_all_children(os::now_ns() + patience_ns)) {
        say("a process of the job does not die and is left behind");
    }
    return code;
}

// Prints how the agent that reported no end of its ranks ended, and returns the job's exit code.
int Launcher::tell_lost() {
    const AgentLink& lost = agents_[*lost_node_];
    os::send_signal(lost.pid, SIGCONT);  // its local process may be a stopped keeper
    const os::WaitStatus status = os::wait_for_end(lost.pid);
    std::string who = "the agent";
    if (agents_.size() > 1) who += " of " + job_.nodes[*lost_node_].name;
    who += lost.process_text() + " ";
    const bool is_first = !deciding_node_ || *deciding_node_ == *lost_node_;
    if (status.is_exit()) {
        say(who + "exited with code " + std::to_string(status.exit_code()) +
            " before the job was over; all ranks were ended");
        return is_first ? launch::exit_unavailable : job_code();
    }
    say(who + "was killed by signal " + std::to_string(status.signal()) + " (" +
        os::signal_name(status.signal()) + "); all ranks were ended");
    if (fallback_code_ != 0) return fallback_code_;
    return is_first ? status.shell_code() : job_code();
}

// The code of the rank that was reported as the cause; else of the node where something failed
// first; else of the first node that reports a failure.
int Launcher::job_code() const {
    if (fixed_code_ != 0) return fixed_code_;
    const bool is_told_otherwise = has_told_error_ || has_told_start_ || fallback_code_ != 0;
    if (cause_code_ && !is_told_otherwise) return *cause_code_;
    if (deciding_node_ && agents_[*deciding_node_].ended &&
        agents_[*deciding_node_].ended->code != 0) {
        return agents_[*deciding_node_].ended->code;
    }
    for (const AgentLink& agent : agents_) {
        if (agent.ended && agent.ended->code != 0) return agent.ended->code;
    }
    if (deciding_node_) return launch::exit_unavailable;  // an agent that could not work
    if (fallback_code_ != 0) return fallback_code_;
    // No agent reports for hosts that were not reached yet.
    const bool was_cut_off = std::any_of(agents_.begin(), agents_.end(),
                                         [](const AgentLink& agent) { return agent.is_cut_off; });
    if ((was_cut_off || has_given_up_any()) && asked_signal_ != 0) {
        return launch::exit_signal_base + asked_signal_;
    }
    return has_given_up_any() ? launch::exit_unavailable : 0;
}

bool Launcher::has_given_up_any() const noexcept {
    return std::any_of(agents_.begin(), agents_.end(),
                       [](const AgentLink& agent) { return agent.is_given_up; });
}

// Tells the user that the job is over on other nodes; once for each time that a node falls silent.
void Launcher::tell_awaited(const std::vector<std::uint32_t>& nodes) {
    for (const std::uint32_t node : nodes) {
        if (agents_[node].silences != 1) continue;
        say("other nodes are done, and the agent of " + job_.nodes[node].name +
            " has not answered for " + base::seconds_text(answer_ns) +
            " s: it, its host or the connection to it is stopped; the job is ended if that lasts " +
            base::seconds_text((silences_max - 1) * answer_ns) + " s more");
    }
}

// Reports agents that were stopped while the job runs: acprun does not end them, for the user may
// debug them. When the job is to end, give_up_on_silent() does.
void Launcher::tell_stopped_agents() {
    const auto news = end_watch_.poll_stopped(agents_, os::now_ns());
    if (!news || options_.is_quiet || is_ending_) return;
    const std::vector<std::uint32_t> told = std::exchange(stopped_agents_, base::ranks_from(*news));
    for (const std::uint32_t node : stopped_agents_) {
        if (std::find(told.begin(), told.end(), node) != told.end()) continue;
        const AgentLink& agent = agents_[node];
        const std::string pid = std::to_string(agent.local_process());
        std::string text =
            agent.is_far ? "the process that carries the connection to " : "the agent of ";
        text.append(place_of(node)).append(" (process ").append(pid);
        text +=
            ") is stopped (by a signal, or by a debugger): until it continues, the output of its "
            "ranks, their ends and signals to them do not pass; kill -CONT ";
        say(text.append(pid).append(" continues it"));
    }
}

// Lists the silent agents on this machine and those on other machines, each kind on one line.
void Launcher::tell_silent(const std::vector<std::uint32_t>& nodes) {
    constexpr std::size_t names_max = 8;
    std::array<std::string, 2> names;
    std::array<std::size_t, 2> counts{};
    for (const std::uint32_t node : nodes) {
        const AgentLink& agent = agents_[node];
        const std::size_t kind = agent.is_far ? 1 : 0;
        if (++counts[kind] > names_max) continue;
        names[kind] += (names[kind].empty() ? "" : ", ") +
                       (agents_.size() > 1 ? job_.nodes[node].name : os::host_name());
        if (!agent.is_far) names[kind] += agent.process_text();
    }
    const std::uint64_t waited_ns = answer_ns * agents_[nodes.front()].silences;
    const std::string wait = " did not answer for " + base::seconds_text(waited_ns) + " s";
    for (std::size_t kind = 0; kind < names.size(); ++kind) {
        const std::size_t more = counts[kind] - std::min(counts[kind], names_max);
        if (more > 0) names[kind] += " and " + std::to_string(more) + " more";
    }
    if (counts[0] > 0) {
        say("the agent of " + names[0] + wait + ": it was killed, and its ranks with it");
    }
    if (counts[1] > 0) {
        say(names[1] + wait +
            ": the connection was dropped; ranks there end when the host notices that");
    }
}

}  // namespace acp::run
