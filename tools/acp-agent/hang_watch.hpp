// SPDX-License-Identifier: BSD-3-Clause
// Notices that a rank of this node has waited in one call for longer than the user allows
// (ACP_HANG_TIMEOUT), by looking at the node segment (node/awaited.hpp): the ranks need not help,
// and may be stopped. It polls the segment when the oldest wait that it has seen reaches the
// allowed time, and once per allowed time while no rank waits, so that it costs a job nothing. It
// reports each wait once. One thread.
// Tests: tests/tools/acprun_doings_test.py (HangTimeout).
#pragma once

#include <cstdint>
#include <vector>

#include "node/segment.hpp"
#include "os/poll_set.hpp"

namespace acp::agent {

class HangWatch {
public:
    // Starts watching.
    //   segment     of this node; must outlive this
    //   allowed_ns  how long a wait may last; 0: for ever
    void start(const node::Segment& segment, std::uint64_t allowed_ns, std::uint64_t now_ns);

    // When look() is due; poll_forever where nothing is watched.
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }

    // Looks at all ranks. Returns true when a rank's wait has reached the allowed time and was not
    // reported before; call it at the deadline.
    [[nodiscard]] bool look(std::uint64_t now_ns);

private:
    const node::Segment* segment_ = nullptr;
    std::uint64_t allowed_ns_ = 0;
    std::uint64_t deadline_ns_ = os::poll_forever;
    // per slot: the begin of the wait that was reported last
    std::vector<std::uint64_t> told_since_ns_;
};

}  // namespace acp::agent
