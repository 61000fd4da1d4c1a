// SPDX-License-Identifier: BSD-3-Clause
// Turns the agents' reports into messages for the user.
#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/parse.hpp"
#include "base/words.hpp"
#include "os/clock.hpp"
#include "os/process.hpp"

#include "launch/exit_codes.hpp"
#include "launcher.hpp"

namespace acp::run {

void Launcher::hear(std::uint32_t node, std::string_view line) {
    const auto words = base::words_of(line, 2);
    const std::string_view rest = words.size() == 2 ? words[1] : std::string_view();
    if (words[0] == "failed") {
        hear_failed(node, rest);
    } else if (words[0] == "unstarted") {
        hear_unstarted(node, rest);
    } else if (words[0] == "unjoined") {
        hear_unjoined(node, rest);
    } else if (words[0] == "ended") {
        hear_ended(node, rest);
    } else if (words[0] == "error") {
        hear_error(node, rest);
    } else if (words[0] == "doing") {
        roll_call_.add(rest);
    } else if (words[0] == "note") {
        hear_note(rest);
    } else {
        hear_answer(node, words[0], rest);
    }
}

// Handles the lines that an agent sends on its own progress or as an answer.
void Launcher::hear_answer(std::uint32_t node, std::string_view word, std::string_view rest) {
    AgentLink& agent = agents_[node];
    if (word == "reached") {
        agent.is_reached = true;
        if (agents_.size() == 1) progress_.end();
        plan_is_due(node);
    } else if (word == "process") {
        agent.agent_pid = base::parse_unsigned(rest).value_or(0);
    } else if (word == "interfaces") {
        hear_interfaces(node, rest);
    } else if (word == "host") {
        agent.gateway.host = launch::sent_host_name(rest);
    } else if (word == "listening") {
        agent.gateway.addresses = launch::addresses_from(rest);
    } else if (word == "done") {
        agent.is_done = true;
        if (agents_.size() > 1) end_watch_.ask(agents_);  // asks the agents that are not done
    } else if (word == "alive") {
        agent.owes_sign_of_life = false;
        agent.silences = 0;
    } else if (word == "carried") {
        hear_carried(node, rest);
    } else if (word == "line") {
        agent.has_open_line = rest == "open";
    } else if (word == "told") {
        roll_call_.note_told(agent, rest);
        settle_roll_call();
    } else if (word == "hang") {
        roll_call_.ask_about_hang(agents_, job_.hang_timeout_ns);
    } else if (word == "asked") {
        // The agent got SIGTERM. A batch system may send it to acprun and to every agent; the ranks
        // get one SIGTERM for all of them.
        if (asked_signal_ == 0) on_signal(SIGTERM);
    } else if (word == "stopped") {
        hear_stopped_ranks(node, rest);
    } else if (word == "running") {
        hear_running(node, rest);
    } else if (word == "passed" && rest == std::to_string(SIGTSTP)) {
        hear_stopped(node);
    }
}

void Launcher::hear_carried(std::uint32_t node, std::string_view words) {
    const auto parts = base::words_of(words, 3);  // process, and LeftLine::at of two streams
    if (parts.size() != 3) return;
    const auto process = base::parse_unsigned(parts[0]);
    if (!process) return;
    Outputs::LeftLines left{};
    for (std::size_t i = 0; i < left.size(); ++i)
        left[i] = {node, base::parse_unsigned(parts[i + 1]).value_or(0)};
    held_.note_carried(static_cast<std::uint32_t>(*process), outputs_, left);
    tell_held();
}

void Launcher::hear_interfaces(std::uint32_t node, std::string_view words) {
    auto interfaces = launch::interfaces_from(words);
    if (!interfaces.is_ok()) return refuse_addresses(node, interfaces.failure().message());
    agents_[node].interfaces = std::move(interfaces).value();
}

// A failure that ends the job is reported after the job has ended, below all output and when all
// agents have reported; others when the rank's output has been passed on. After the user asked for the end, failures of ranks are
// ignored: a rank may fail because another node's ranks have ended before acprun's request reached
// its own agent.
void Launcher::hear_failed(std::uint32_t node, std::string_view words) {
    auto failed = failed_rank_from(words);
    if (!failed || failed->process >= job_.common.procs || asked_signal_ != 0) return;
    failed->program = job_.distinct_program_of(failed->process);
    if (!deciding_node_) deciding_node_ = node;
    const bool ends_job =
        !job_.common.is_continue_on_failure && failed->state != node::SlotState::left;
    const bool is_first = failures_.empty();
    if (is_first && !ends_job) return held_.add({node, *failed});
    failures_.push_back({node, *failed});
    if (is_first) end_others(node, "end");
}

// No failure by itself: it may be a program without ACP.
void Launcher::hear_unjoined(std::uint32_t node, std::string_view words) {
    const auto parts = base::words_of(words, 2);  // rank, pid
    if (parts.size() != 2) return;
    const auto rank = base::parse_unsigned(parts[0]);
    const auto pid = base::parse_unsigned(parts[1]);
    if (!rank || !pid || *rank >= job_.common.procs) return;
    NodeFailure ended{node, {}};
    ended.rank.rank = ended.rank.process = static_cast<std::uint32_t>(*rank);
    ended.rank.pid = static_cast<int>(*pid);
    ended.rank.program = job_.distinct_program_of(ended.rank.process);
    unjoined_.push_back(std::move(ended));
}

void Launcher::hear_unstarted(std::uint32_t node, std::string_view words) {
    if (!deciding_node_) deciding_node_ = node;
    end_others(node, "kill");
    if (has_told_start_) return;
    has_told_start_ = true;
    const auto parts = base::words_of(words, 3);  // rank, errno, text
    if (parts.size() != 3) return;
    const auto process = static_cast<std::uint32_t>(base::parse_unsigned(parts[0]).value_or(0));
    if (process >= job_.common.procs) return;
    const std::string where = agents_[node].is_far ? " on " + job_.nodes[node].name : "";
    say("cannot run " + job_.common.program_of(process).path + where + ": " +
        std::string(parts[2]));
    if (parts[1] == std::to_string(ENOENT)) {
        hint(agents_[node].is_far
                 ? "the program must be there too, under the same name; or its interpreter, or "
                   "loader, is missing"
                 : "the file is there: the interpreter in its first line, or its loader, is "
                   "missing");
    } else if (parts[1] == std::to_string(ENOEXEC)) {
        hint("it is no program for this machine");
    }
}

void Launcher::hear_error(std::uint32_t node, std::string_view words) {
    if (!deciding_node_) deciding_node_ = node;
    end_others(node, "kill");
    if (has_told_error_) return;
    has_told_error_ = true;
    const std::string where =
        agents_.size() > 1 || agents_[node].is_far ? job_.nodes[node].name + ": " : "";
    say(where + std::string(words.substr(words.find(' ') + 1)));
}

void Launcher::hear_ended(std::uint32_t node, std::string_view words) {
    const auto parts = base::words_of(words, 3);  // code, failed, ended by the agent
    if (parts.size() != 3) return;
    const auto number = [&parts](std::size_t i) { return base::parse_unsigned(parts[i]); };
    Ended ended{static_cast<int>(number(0).value_or(launch::exit_unavailable)),
                number(1).value_or(0), number(2).value_or(0)};
    // failures after the user's request to end are ignored, see hear_failed
    if (asked_signal_ != 0 && !deciding_node_ && ended.failed > 0) {
        ended.code = launch::exit_signal_base + asked_signal_;
        ended.failed = 0;
    }
    agents_[node].ended = ended;
}

void Launcher::hear_running(std::uint32_t node, std::string_view ranges) {
    agents_[node].has_told_running = true;
    for (const std::uint32_t rank : base::ranks_from(ranges)) still_running_.push_back(rank);
    settle_running();
}

// The answers are complete when each agent that still runs has answered; agents that are gone
// cannot answer.
void Launcher::settle_running() {
    if (!is_time_over_ || has_told_running_) return;
    const auto owes_answer = [](const AgentLink& agent) {
        return agent.is_running() && !agent.is_cut_off && !agent.has_told_running;
    };
    if (std::any_of(agents_.begin(), agents_.end(), owes_answer)) return;
    tell_running();
    if (fallback_code_ == 0) end_for_timeout();
}

void Launcher::tell_running() {
    if (has_told_running_) return;
    has_told_running_ = true;
    std::sort(still_running_.begin(), still_running_.end());
    const std::string ranges = base::rank_ranges(still_running_);
    const bool is_one = ranges.find_first_of("-,") == std::string::npos;
    std::string who;
    if (ranges != "none") {
        who = ": " + ranks_phrase(ranges) + (is_one ? " was" : " were") + " still running";
    } else if (!has_given_up_any()) {  // ranks of an agent that did not answer may still run
        who = ": no rank was still running";
    }
    say("timeout of " + base::seconds_text(options_.timeout_ns) + " s" + who +
        "; the job was ended" + roll_call_.take_lines());
}

// Prints what the ranks do, when that was asked for and the answers are there.
void Launcher::settle_roll_call() {
    if (const auto text = roll_call_.take(agents_, job_)) say(*text);
}

// When the ranks of all nodes have been stopped, stops this process too. SIGCONT, which wakes it,
// is passed on like any other signal.
void Launcher::hear_stopped(std::uint32_t node) {
    agents_[node].has_passed_stop = true;
    const auto is_awaited = [](const AgentLink& agent) {
        return agent.is_running() && !agent.has_passed_stop;
    };
    if (std::any_of(agents_.begin(), agents_.end(), is_awaited)) return;
    for (AgentLink& agent : agents_) agent.has_passed_stop = false;
    os::stop_this_process();
}

// All ranks that run on a node are stopped; "none": no longer.
void Launcher::hear_stopped_ranks(std::uint32_t node, std::string_view ranges) {
    agents_[node].stopped_ranks = base::ranks_from(ranges);
    settle_stopped();
}

// Reports, once, that stopped ranks alone keep the job alive.
void Launcher::settle_stopped() {
    if (has_told_stopped_ || options_.is_quiet) return;
    std::string who;
    bool are_many = false;
    for (std::uint32_t node = 0; node < agents_.size(); ++node) {
        const AgentLink& agent = agents_[node];
        if (!agent.is_running() || agent.is_done || agent.ended) continue;
        if (agent.stopped_ranks.empty()) return;
        are_many = are_many || !who.empty() || agent.stopped_ranks.size() > 1;
        who += (who.empty() ? "" : ", and ") +
               ranks_phrase(base::rank_ranges(agent.stopped_ranks)) + " on " + place_of(node);
    }
    if (who.empty()) return;
    has_told_stopped_ = true;
    say(who + (are_many ? " are" : " is") +
        " stopped (by a signal, or by a debugger), and no other rank runs: the job waits until "
        "they continue; SIGCONT to acprun continues all ranks");
}

// Prints each text once: similar nodes send the same notes, and ranks that die alike need one hint.
void Launcher::hear_note(std::string_view text) {
    const bool is_known =
        std::find(told_notes_.begin(), told_notes_.end(), text) != told_notes_.end();
    if (is_known || options_.is_quiet) return;
    told_notes_.emplace_back(text);
    say(text);
}

// A failure that is reported after all agents have ended lists every rank that had ended before.
// One that is reported before lists those that the other nodes' agents have already reported.
void Launcher::tell_failure(NodeFailure failure, std::uint64_t ended_others) {
    if (!unjoined_.empty()) {
        std::vector<std::uint32_t> ranks;
        for (const NodeFailure& ended : unjoined_) ranks.push_back(ended.rank.rank);
        std::sort(ranks.begin(), ranks.end());
        failure.rank.unjoined_ranks = base::rank_ranges(ranks);
    }
    say(describe_failure(failure.rank, place_of(failure.node)) + fate_of_others(ended_others));
    hint(hint_for(failure.rank));
}

// Reports the failures that were held back until the output of their ranks had been passed on.
void Launcher::tell_held() {
    for (NodeFailure& failure : held_.take_ready(outputs_)) tell_failure(std::move(failure), 0);
}

// Reports the cause first, and the other failures below it.
void Launcher::tell_failures(std::uint64_t ended_others) {
    std::size_t cause = find_cause(failures_);
    const bool is_of_absent = !unjoined_.empty() && may_follow_absence(failures_[cause].rank);
    if (is_of_absent) failures_.push_back(unjoined_.front());
    if (is_of_absent) cause = failures_.size() - 1;
    if (cause != 0) cause_code_ = code_of(failures_[cause].rank);
    tell_failure(failures_[cause], ended_others);
    for (const std::string& line : describe_others(failures_, cause)) say(line);
}

void Launcher::hint(const std::string& text) {
    if (!text.empty()) hear_note("hint: " + text);
}

std::string Launcher::place_of(std::uint32_t node) const {
    if (agents_[node].is_far) return job_.nodes[node].name;
    return os::host_name() + (agents_.size() > 1 ? ", " + job_.nodes[node].name : "");
}

}  // namespace acp::run
