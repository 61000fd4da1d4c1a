// SPDX-License-Identifier: BSD-3-Clause
// Writes the sentences about failures.
#include "report.hpp"

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "base/parse.hpp"
#include "base/words.hpp"
#include "node/death.hpp"
#include "os/fiber.hpp"
#include "os/signal_fd.hpp"

#include "launch/exit_codes.hpp"

namespace acp::run {

namespace {

// The number of the verb: one sentence reports the ends of several ranks that ended alike.
enum class Grammar { singular, plural };

std::string how(const FailedRank& failed, Grammar grammar) {
    const bool is_one = grammar == Grammar::singular;
    if (failed.status.raw() == node::replaced_status) {
        return std::string(is_one ? "has" : "have") + " run another program (exec)";
    }
    if (failed.status.is_exit())
        return "exited with code " + std::to_string(failed.status.exit_code());
    const int signal = failed.status.signal();
    return std::string(is_one ? "was" : "were") + " killed by signal " + std::to_string(signal) +
           " (" + os::signal_name(signal) + ": " + os::signal_words(signal) + ")" +
           (failed.status.dumped_core() ? " and dumped core" : "");
}

// Whether the process ended itself and has said why. A signal other than SIGABRT came from another
// process.
bool is_own_end(const FailedRank& failed) {
    return failed.own_end != node::OwnEnd::none && !failed.status.is_exit() &&
           failed.status.signal() == SIGABRT;
}

std::string how_by_itself(const FailedRank& failed, Grammar grammar) {
    const std::string way = failed.own_end == node::OwnEnd::by_abort ? "called acp_abort"
                            : grammar == Grammar::singular
                                ? "gave up because of the error it told on its standard error"
                                : "gave up because of the errors they told on their standard error";
    return way + (failed.status.dumped_core() ? " and dumped core" : "");
}

// For a plain program, which never joins, no ACP call is mentioned.
std::string when(const FailedRank& failed) {
    switch (failed.state) {
        case node::SlotState::joined:
        case node::SlotState::dead:
            return " without acp_finalize";
        case node::SlotState::left:
            return " after acp_finalize";
        case node::SlotState::empty:
            break;
    }
    const bool is_clean = failed.status.is_exit() && failed.status.exit_code() == 0;
    return is_clean ? " without acp_init, in which others wait for it" : "";
}

// How and when the rank ended, without its name.
std::string end_of(const FailedRank& failed, Grammar grammar) {
    return is_own_end(failed) ? how_by_itself(failed, grammar)
                              : how(failed, grammar) + when(failed);
}

enum class Kind { ended_from_outside, ended_by_itself, told_an_error };

Kind kind_of(const FailedRank& failed) {
    if (is_own_end(failed)) {
        return failed.own_end == node::OwnEnd::by_error ? Kind::told_an_error
                                                        : Kind::ended_by_itself;
    }
    const bool is_exec = failed.status.raw() == node::replaced_status;
    return is_exec || !failed.status.is_exit() ? Kind::ended_from_outside : Kind::ended_by_itself;
}

}  // namespace

bool may_follow_absence(const FailedRank& failed) {
    const bool has_joined =
        failed.state == node::SlotState::joined || failed.state == node::SlotState::dead;
    return has_joined && kind_of(failed) != Kind::ended_from_outside;
}

std::size_t find_cause(std::span<const NodeFailure> failures) {
    std::size_t cause = 0;
    std::optional<Kind> best;
    std::set<std::uint32_t> judged_nodes;  // nodes whose first candidate was considered
    for (std::size_t i = 0; i < failures.size(); ++i) {
        const Kind kind = kind_of(failures[i].rank);
        const bool is_candidate =
            kind == Kind::told_an_error || judged_nodes.insert(failures[i].node).second;
        if (!is_candidate || (best && *best <= kind)) continue;
        best = kind;
        cause = i;
    }
    return cause;
}

int code_of(const FailedRank& failed) {
    const bool is_unfinished = failed.status.raw() == node::replaced_status ||
                               (failed.status.is_exit() && failed.status.exit_code() == 0);
    return is_unfinished ? launch::exit_unfinished : failed.status.shell_code();
}

std::vector<std::string> describe_others(std::span<const NodeFailure> failures, std::size_t cause) {
    struct SameEnd {
        const FailedRank* first;  // the others ran the same program and ended alike
        std::vector<std::uint32_t> ranks;
    };

    std::vector<SameEnd> kinds;
    for (std::size_t i = 0; i < failures.size(); ++i) {
        if (i == cause) continue;
        const FailedRank& failed = failures[i].rank;
        const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const SameEnd& kind) {
            return kind.first->program == failed.program &&
                   end_of(*kind.first, Grammar::singular) == end_of(failed, Grammar::singular);
        });
        if (known != kinds.end()) {
            known->ranks.push_back(failed.rank);
        } else if (kinds.size() < kinds_max) {
            kinds.push_back({&failed, {failed.rank}});
        }
    }
    std::vector<std::string> lines;
    for (auto& [first, ranks] : kinds) {
        std::sort(ranks.begin(), ranks.end());
        std::string line = "also " + ranks_phrase(base::rank_ranges(ranks)) + " ";
        if (!first->program.empty()) line.append("(").append(first->program).append(") ");
        lines.push_back(
            line.append(end_of(*first, ranks.size() == 1 ? Grammar::singular : Grammar::plural)));
    }
    return lines;
}

std::optional<FailedRank> failed_rank_from(std::string_view words) {
    constexpr std::size_t word_count = 9;
    const auto parts = base::words_of(words, word_count);
    if (parts.size() != word_count) return std::nullopt;
    const auto rank = base::parse_unsigned(parts[0]);
    const auto pid = base::parse_unsigned(parts[1]);
    const auto status = base::parse_unsigned(parts[2]);
    const auto state = base::parse_unsigned(parts[3]);
    const auto own_end = base::parse_unsigned(parts[5]);
    const auto unmapped = base::parse_unsigned(parts[6]);
    const auto fiber = base::parse_unsigned(parts[7]);
    const auto process = base::parse_unsigned(parts[8]);
    if (!rank || !pid || !status || !state || !own_end || !unmapped || !fiber || !process) {
        return std::nullopt;
    }
    return FailedRank{static_cast<std::uint32_t>(*rank),
                      static_cast<int>(*pid),
                      os::WaitStatus(static_cast<std::uint32_t>(*status)),
                      static_cast<node::SlotState>(*state),
                      std::string(parts[4]),
                      static_cast<node::OwnEnd>(*own_end),
                      static_cast<std::uint32_t>(*unmapped),
                      *fiber != 0,
                      static_cast<std::uint32_t>(*process),
                      ""};
}

std::string describe_failure(const FailedRank& failed, const std::string& place) {
    return "rank " + std::to_string(failed.rank) + " (" +
           (failed.program.empty() ? "" : failed.program + ", ") + "process " +
           std::to_string(failed.pid) + " on " + place + ") " + end_of(failed, Grammar::singular);
}

std::string hint_for(const FailedRank& failed) {
    if (failed.unjoined_ranks != "none" && failed.state != node::SlotState::empty) {
        return ranks_phrase(failed.unjoined_ranks) +
               " had ended before, with code 0 and without acp_init: all ranks must call it";
    }
    if (failed.status.raw() == node::replaced_status) {
        return "every rank calls acp_finalize before it runs another program in its place";
    }
    if (failed.status.is_exit()) {
        const bool is_unfinished =
            failed.state == node::SlotState::joined || failed.state == node::SlotState::dead;
        return failed.status.exit_code() == 0 && is_unfinished
                   ? "every rank calls acp_finalize before it ends; acp_abort ends a job early"
                   : "";
    }
    if (is_own_end(failed)) return "";
    if (failed.status.signal() == SIGSEGV &&
        failed.unmapped_rank_plus_1 == node::no_starter_memory) {
        return "acp_query_address had given it NULL, for the ranks of this job have no starter "
               "memory; --starter-size gives them some";
    }
    if (failed.status.signal() == SIGSEGV && failed.ran_on_fiber) {
        return "it was in a non-blocking collective call, which runs the program's combine "
               "function on a stack of " +
               base::human_size(os::fiber_stack_bytes) + ": large arrays there overflow it";
    }
    if (failed.status.signal() == SIGSEGV && failed.unmapped_rank_plus_1 != 0) {
        return "acp_query_address had given it NULL, for the memory of rank " +
               std::to_string(failed.unmapped_rank_plus_1 - 1) +
               " is on another node and has no pointer here; acp_copy reaches it";
    }
    switch (failed.status.signal()) {
        case SIGKILL:
            return "if nobody sent it, memory ran out: look for \"Out of memory\" in dmesg";
        case SIGSEGV:
        case SIGBUS:
        case SIGILL:
        case SIGFPE:
        case SIGABRT:
            return failed.status.dumped_core()
                       ? ""
                       : "ulimit -c unlimited lets it leave a core file for a debugger";
        default:
            return "";
    }
}

std::string fate_of_others(std::uint64_t ended) {
    if (ended == 0) return "";
    return ended == 1 ? "; the other rank was ended"
                      : "; the other " + std::to_string(ended) + " ranks were ended";
}

std::string ranks_phrase(std::string_view ranges) {
    const bool is_one = ranges.find_first_of("-,") == std::string_view::npos;
    return (is_one ? "rank " : "ranks ") + std::string(ranges);
}

}  // namespace acp::run
