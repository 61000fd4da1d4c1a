// SPDX-License-Identifier: BSD-3-Clause
// Judges a rank's end: whether it was a failure, whether it ends the others, and which exit code it
// gives the job. Knows nothing of how the end was noticed. Pure.
#pragma once

#include "node/control.hpp"
#include "os/child.hpp"

namespace acp::agent {

struct RankEnd {
    os::WaitStatus status;
    node::SlotState state;    // state of its slot when it ended
    bool have_others_joined;  // when this rank ended, another one had called acp_init
};

struct Verdict {
    bool is_failure = false;  // is reported, and sets the job's exit code
    // the agent ends the other ranks, unless acprun runs with --on-failure=continue
    bool ends_others = false;
    int code = 0;
};

[[nodiscard]] Verdict judge(const RankEnd& end) noexcept;

}  // namespace acp::agent
