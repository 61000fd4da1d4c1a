// SPDX-License-Identifier: BSD-3-Clause
// What the agent reports, turned into what the user is told.
#include <cerrno>
#include <csignal>

#include "base/parse.hpp"
#include "job/exit_codes.hpp"

#include "launcher.hpp"

namespace acp::run {

void Launcher::hear(std::string_view line) {
    const auto words = job::words_of(line, 2);
    const std::string_view rest = words.size() == 2 ? words[1] : std::string_view();
    if (words[0] == "failed") {
        hear_failed(rest);
    } else if (words[0] == "unstarted") {
        hear_unstarted(rest);
    } else if (words[0] == "ended") {
        hear_ended(rest);
    } else if (words[0] == "running") {
        say("timeout of " + base::seconds_text(options_.timeout_ns) + " s: " +
            (rest == "none"
                 ? std::string("no rank was")
                 : ranks_phrase(rest) +
                       (rest.find_first_of("-,") == std::string_view::npos ? " was" : " were")) +
            " still running; the job was ended");
    } else if (words[0] == "error") {
        say(rest.substr(rest.find(' ') + 1));
    } else if (words[0] == "note") {
        if (!options_.is_quiet) say(rest);
    } else if (words[0] == "passed" && rest == std::to_string(SIGTSTP)) {
        os::stop_this_process();  // SIGCONT, which wakes us, is passed on like any other
    }
}

// A failure that ends the job is told when that has happened, below all output; others at once.
void Launcher::hear_failed(std::string_view words) {
    const auto failed = failed_rank_from(words);
    if (!failed) return;
    const bool ends_job = !plan_.is_continue_on_failure && failed->state != node::SlotState::left;
    if (untold_) return;  // only the first of those
    untold_ = failed;
    if (!ends_job) tell_failure(0);
}

void Launcher::hear_unstarted(std::string_view words) {
    if (has_told_start_) return;
    has_told_start_ = true;
    const auto parts = job::words_of(words, 3);  // rank, errno, text
    if (parts.size() != 3) return;
    say("cannot run " + plan_.program + ": " + std::string(parts[2]));
    if (parts[1] == std::to_string(ENOENT)) {
        hint("the file is there: the interpreter in its first line, or its loader, is missing");
    } else if (parts[1] == std::to_string(ENOEXEC)) {
        hint("it is no program for this machine");
    }
}

void Launcher::hear_ended(std::string_view words) {
    const auto parts = job::words_of(words, 3);  // code, failed, ended by the agent
    if (parts.size() != 3) return;
    code_ = static_cast<int>(base::parse_unsigned(parts[0]).value_or(job::exit_unavailable));
    const std::uint64_t failed = base::parse_unsigned(parts[1]).value_or(0);
    if (untold_) tell_failure(base::parse_unsigned(parts[2]).value_or(0));
    if (failed > 1)
        say(std::to_string(failed) + " of " + std::to_string(plan_.procs) + " ranks failed");
    const bool was_asked = asked_signal_ != 0 && *code_ == job::exit_signal_base + asked_signal_;
    if (was_asked && !options_.is_quiet) say("ended by " + os::signal_name(asked_signal_));
}

void Launcher::tell_failure(std::uint64_t ended_others) {
    say(describe_failure(*untold_) + fate_of_others(ended_others));
    hint(hint_for(*untold_));
    untold_.reset();
}

void Launcher::hint(const std::string& text) const {
    if (!text.empty() && !options_.is_quiet) say("hint: " + text);
}

}  // namespace acp::run
