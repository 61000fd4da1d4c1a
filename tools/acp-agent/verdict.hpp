// SPDX-License-Identifier: BSD-3-Clause
// Judging a rank's end: was it a failure, what does it do to the others, which exit code does it give the
// job. Knows nothing of how the end was noticed. Pure.
#pragma once

#include "node/control.hpp"
#include "os/child.hpp"

namespace acp::agent {

struct RankEnd {
    os::WaitStatus status;
    node::SlotState state;    // of its slot when it was gone
    bool have_others_joined;  // some other rank has called acp_init by now
};

struct Verdict {
    bool is_failure = false;   // to be reported, and it sets the job's exit code
    bool ends_others = false;  // unless the user lets them go on
    int code = 0;
};

[[nodiscard]] Verdict judge(const RankEnd& end) noexcept;

}  // namespace acp::agent
