// SPDX-License-Identifier: BSD-3-Clause
// What acprun tells about a job that did not go well: one clear line, and a hint where there is one. Knows
// no process and no stream. Pure; any thread.
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

// A rank that ended as it should not, as the agent tells it.
struct FailedRank {
    std::uint32_t rank = 0;
    int pid = 0;
    os::WaitStatus status{0};
    node::SlotState state = node::SlotState::empty;  // of its slot when it was gone
    std::string unjoined_ranks;                      // that ended well and without acp_init; "none"
    node::OwnEnd own_end = node::OwnEnd::none;       // what it wrote before it ended itself
    std::uint32_t unmapped_rank_plus_1 = 0;  // for whose memory acp_query_address gave it NULL
    std::uint32_t process = 0;               // its rank at the start, before any acp_reset
    std::string program;                     // that it ran, where ranks run different ones; else ""
};

// A failure, and whose agent told it.
struct NodeFailure {
    std::uint32_t node = 0;
    FailedRank rank;
};

// Which of the failures that ended a job is told as its cause. Agents are heard in any order: a rank that fails because one
// of another node died may be heard of before that one. So of each node counts the first rank that did not end itself
// because of an error it told; and of these a signal or an exec goes before an exit code, which goes before such an end.
//   failures  as they were heard, at least one   Returns an index.
[[nodiscard]] std::size_t find_cause(std::span<const NodeFailure> failures);

// The exit code that the failure gives the job.
[[nodiscard]] int code_of(const FailedRank& failed);

// The other failures, a line for each kind: "also ranks 0,2 exited with code 5 without acp_finalize", or "also ranks 0,2
// (./client) ..." where ranks run different programs. At most kinds_max kinds, the earliest.
inline constexpr std::size_t kinds_max = 8;
[[nodiscard]] std::vector<std::string> describe_others(std::span<const NodeFailure> failures,
                                                       std::size_t cause);

// From the words after "failed"; nullopt when they do not parse.
[[nodiscard]] std::optional<FailedRank> failed_rank_from(std::string_view words);

// "rank 2 (process 4711 on host) was killed by signal 9 (SIGKILL: killed) without acp_finalize", or
// "... gave up because of the error it told" where the process says so; "rank 2 (./client, process 4711 ..." where ranks
// run different programs
//   place  the host, and the node where there are several
[[nodiscard]] std::string describe_failure(const FailedRank& failed, const std::string& place);

// What to do about it; "" when there is nothing to say.
[[nodiscard]] std::string hint_for(const FailedRank& failed);

// "; the other 3 ranks were ended", "" for none.
[[nodiscard]] std::string fate_of_others(std::uint64_t ended);

// "rank 2", "ranks 0-3"
[[nodiscard]] std::string ranks_phrase(std::string_view ranges);

}  // namespace acp::run
