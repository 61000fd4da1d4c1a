// SPDX-License-Identifier: BSD-3-Clause
// The end of a job: what is told then, and the exit code.
#include <algorithm>
#include <csignal>

#include "job/exit_codes.hpp"
#include "os/child.hpp"
#include "os/clock.hpp"

#include "launcher.hpp"

namespace acp::run {

int Launcher::end() {
    outputs_.abandon();
    if (!still_running_.empty()) tell_running();
    Ended sum;
    for (const AgentLink& agent : agents_) {
        if (!agent.ended) continue;
        sum.failed += agent.ended->failed;
        sum.killed += agent.ended->killed;
    }
    if (untold_) tell_failure(sum.killed);
    if (sum.failed > 1) {
        say(std::to_string(sum.failed) + " of " + std::to_string(job_.common.procs) +
            " ranks failed");
    }
    const int code = lost_node_ ? tell_lost() : job_code();
    const bool was_asked = asked_signal_ != 0 && code == job::exit_signal_base + asked_signal_;
    if (was_asked && !lost_node_ && !options_.is_quiet) {
        say("ended by " + os::signal_name(asked_signal_));
    }
    if (!os::end_all_children(os::now_ns() + patience_ns)) {
        say("a process of the job does not die and is left behind");
    }
    return code;
}

// Says how the agent ended that gave no account of its ranks, and returns the job's exit code.
int Launcher::tell_lost() {
    const AgentLink& lost = agents_[*lost_node_];
    const os::WaitStatus status = os::wait_for_end(lost.pid);
    std::string who = "the agent";
    if (agents_.size() > 1) who += " of " + job_.nodes[*lost_node_].name;
    who += " (process " + std::to_string(lost.pid) + ") ";
    const bool is_first = !deciding_node_ || *deciding_node_ == *lost_node_;
    if (status.is_exit()) {
        say(who + "exited with code " + std::to_string(status.exit_code()) +
            " before the job was over; all ranks were ended");
        return is_first ? job::exit_unavailable : job_code();
    }
    say(who + "was killed by signal " + std::to_string(status.signal()) + " (" +
        os::signal_name(status.signal()) + "); all ranks were ended");
    if (fallback_code_ != 0) return fallback_code_;
    return is_first ? status.shell_code() : job_code();
}

// That of the node where something went wrong first; else of the first node that tells of anything.
int Launcher::job_code() const {
    if (fixed_code_ != 0) return fixed_code_;
    if (deciding_node_ && agents_[*deciding_node_].ended &&
        agents_[*deciding_node_].ended->code != 0) {
        return agents_[*deciding_node_].ended->code;
    }
    for (const AgentLink& agent : agents_) {
        if (agent.ended && agent.ended->code != 0) return agent.ended->code;
    }
    if (deciding_node_) return job::exit_unavailable;  // an agent that could not work
    if (fallback_code_ != 0) return fallback_code_;
    // Hosts that were not reached yet have nobody to say so.
    const bool was_cut_off = std::any_of(agents_.begin(), agents_.end(),
                                         [](const AgentLink& agent) { return agent.is_cut_off; });
    return was_cut_off && asked_signal_ != 0 ? job::exit_signal_base + asked_signal_ : 0;
}

}  // namespace acp::run
