// SPDX-License-Identifier: BSD-3-Clause
// Notices processes of this node that are gone although the agent's own child still runs: a rank
// that ran another program (exec) after acp_init, or one that a wrapper (a shell, a container's
// tool) started and waits for. Their life locks come free (node/death.hpp), and the kernel reports
// that a file was closed. Where the kernel cannot report that, the locks are checked every
// look_every_ns. To end such a report takes the kernel 4 to 14 ms, in which the agent cannot end;
// so it is asked for only when the job has run for young_ns, and until then the locks are checked
// every young_look_every_ns. Knows nothing of what a death means for the job. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "node/segment.hpp"
#include "os/clock.hpp"
#include "os/life_lock.hpp"
#include "os/poll_set.hpp"

namespace acp::agent {

class LifeWatch {
public:
    static constexpr std::uint64_t look_every_ns = 250'000'000;
    static constexpr std::uint64_t young_ns = 200'000'000;
    static constexpr std::uint64_t young_look_every_ns = 20'000'000;
    // Pauses between checks after the kernel's report: the lock comes free a moment later, and
    // later still on a busy machine.
    static constexpr std::uint64_t look_again_first_ns = 1'000'000;
    static constexpr std::uint64_t look_again_last_ns = 256'000'000;

    // Starts watching; call it before the first rank starts.
    //   segment, poll  must outlive this   token  of the events in the poll set
    void start(const node::Segment& segment, os::PollSet& poll, std::uint64_t token);

    // When take_lost() is due; poll_forever if the kernel reports and has not reported lately.
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }

    // Makes take_lost() due at a time, unless it is due sooner.
    void look_again(std::uint64_t at_ns) noexcept { deadline_ns_ = std::min(deadline_ns_, at_ns); }

    // The slots whose processes are gone and that are not marked dead, or were marked by processes
    // that do not know how they ended. Call it at the event and at the deadline.
    [[nodiscard]] std::vector<std::uint32_t> take_lost(std::uint64_t now_ns);

private:
    void watch(std::uint64_t now_ns);

    const node::Segment* segment_ = nullptr;
    os::PollSet* poll_ = nullptr;
    std::uint64_t token_ = 0;
    std::uint64_t watch_at_ns_ = 0;  // poll_forever: it was tried
    std::optional<os::CloseWatch> watch_;
    std::uint64_t deadline_ns_ = os::poll_forever;
    std::uint64_t pause_ns_ = os::poll_forever;  // before the next check after the kernel's report
};

}  // namespace acp::agent
