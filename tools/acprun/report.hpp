// SPDX-License-Identifier: BSD-3-Clause
// What acprun tells about a job that did not go well: one clear line, and a hint where there is one. Knows
// no process and no stream. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
};

// From the words after "failed"; nullopt when they do not parse.
[[nodiscard]] std::optional<FailedRank> failed_rank_from(std::string_view words);

// "rank 2 (process 4711 on host) was killed by signal 9 (SIGKILL: killed) without acp_finalize", or
// "... ended itself because of the error it told" where the process says so
//   place  the host, and the node where there are several
[[nodiscard]] std::string describe_failure(const FailedRank& failed, const std::string& place);

// What to do about it; "" when there is nothing to say.
[[nodiscard]] std::string hint_for(const FailedRank& failed);

// "; the other 3 ranks were ended", "" for none.
[[nodiscard]] std::string fate_of_others(std::uint64_t ended);

// "rank 2", "ranks 0-3"
[[nodiscard]] std::string ranks_phrase(std::string_view ranges);

}  // namespace acp::run
