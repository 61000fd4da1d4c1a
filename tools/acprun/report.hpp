// SPDX-License-Identifier: BSD-3-Clause
// What acprun prints about a job that failed: one clear line, and a hint if there is one. Knows no
// process and no stream. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/control.hpp"
#include "os/child.hpp"

namespace acp::run {

// A rank that failed, as the agent reports it.
struct FailedRank {
    std::uint32_t rank = 0;
    int pid = 0;
    os::WaitStatus status{0};
    node::SlotState state = node::SlotState::empty;  // state of its slot when it ended
    // ranks that ended without an error and without acp_init; or "none"
    std::string unjoined_ranks;
    // what it wrote to its slot before it ended itself
    node::OwnEnd own_end = node::OwnEnd::none;
    // the rank + 1 for whose memory acp_query_address returned NULL; 0 = none, or
    // node::no_starter_memory
    std::uint32_t unmapped_rank_plus_1 = 0;
    bool ran_on_fiber = false;  // it ran a non-blocking collective call on the stack of a fiber
    std::uint32_t process = 0;  // its rank at the start, before any acp_reset
    // the program that it ran, if ranks run different ones; else ""
    std::string program;
};

// A failure, and the node whose agent reported it.
struct NodeFailure {
    std::uint32_t node = 0;
    FailedRank rank;
};

// Whether a rank may have failed because another one ended without acp_init: it joined, and then
// ended by itself.
[[nodiscard]] bool may_follow_absence(const FailedRank& failed);

// Finds the failure to report as the cause of the job's end. Agents report in any order: a rank
// that fails because one of another node died may be reported before that one. So for each node the
// first rank counts that did not end itself because of an ACP error; among these, a signal or an
// exec is preferred to an exit code, which is preferred to an end by an ACP error.
//   failures  in order of arrival, at least one   Returns an index.
[[nodiscard]] std::size_t find_cause(std::span<const NodeFailure> failures);

// The job's exit code that follows from this failure.
[[nodiscard]] int code_of(const FailedRank& failed);

// The other failures, one line for each kind: "also ranks 0,2 exited with code 5 without
// acp_finalize", or "also ranks 0,2 (./client) ..." if ranks run different programs. At most
// kinds_max kinds, in order of arrival.
inline constexpr std::size_t kinds_max = 8;
[[nodiscard]] std::vector<std::string> describe_others(std::span<const NodeFailure> failures,
                                                       std::size_t cause);

// Parses the words after "failed"; nullopt when they do not parse.
[[nodiscard]] std::optional<FailedRank> failed_rank_from(std::string_view words);

// "rank 2 (process 4711 on host) was killed by signal 9 (SIGKILL: killed) without acp_finalize", or
// "... gave up because of the error it told on its standard error" if the process says so; "rank 2 (./client, process
// 4711 ..." if ranks run different programs
//   place  the host, and the node if there are several
[[nodiscard]] std::string describe_failure(const FailedRank& failed, const std::string& place);

// The remedy; "" when there is none.
[[nodiscard]] std::string hint_for(const FailedRank& failed);

// "; the other 3 ranks were ended"; "" for 0.
[[nodiscard]] std::string fate_of_others(std::uint64_t ended);

// "rank 2", "ranks 0-3"
[[nodiscard]] std::string ranks_phrase(std::string_view ranges);

}  // namespace acp::run
