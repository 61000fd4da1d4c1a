// SPDX-License-Identifier: BSD-3-Clause
// The rules that judge a rank's end.
#include "verdict.hpp"

#include "launch/exit_codes.hpp"

namespace acp::agent {

Verdict judge(const RankEnd& end) noexcept {
    const bool is_clean = end.status.is_exit() && end.status.exit_code() == 0;
    Verdict verdict;
    if (end.state == node::SlotState::left) {  // no rank depends on what it does after acp_finalize
        verdict.is_failure = !is_clean;
        verdict.code = end.status.shell_code();
        return verdict;
    }
    // A rank that never joins and ends without an error is a plain program, if no other rank waits
    // for it. A rank that joins later finds the slot marked.
    verdict.is_failure = end.state != node::SlotState::empty || !is_clean || end.have_others_joined;
    verdict.ends_others = verdict.is_failure;
    if (verdict.is_failure) {
        verdict.code = is_clean ? launch::exit_unfinished : end.status.shell_code();
    }
    return verdict;
}

}  // namespace acp::agent
