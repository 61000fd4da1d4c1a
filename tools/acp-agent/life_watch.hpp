// SPDX-License-Identifier: BSD-3-Clause
// Notices processes of this node that are gone although the agent's own child goes on: a rank that runs another program
// (exec) after acp_init, or one that a wrapper (a shell, a container's tool) started and waits for. Their life locks
// come free (node/death.hpp), and the kernel says that something was given up. Where it cannot say that, a look every
// look_every_ns does. To end such a watch takes the kernel 4 to 14 ms, in which the agent cannot end: so it begins only when
// the job has lived for longer than such a time, and until then a look every young_look_every_ns does. Knows nothing of what
// a death means for the job. One thread.
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
    // After the kernel told: the lock may come free a moment later, the longer the busier the machine.
    static constexpr std::uint64_t look_again_first_ns = 1'000'000;
    static constexpr std::uint64_t look_again_last_ns = 256'000'000;

    // Begins to look, before the first rank starts.
    //   segment, poll  must outlive this; token  of the events in the poll set
    void start(const node::Segment& segment, os::PollSet& poll, std::uint64_t token);

    // When take_lost() is due by the clock; never while the kernel tells and has not told lately.
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }

    // Makes take_lost() due at a time, if it is not sooner.
    void look_again(std::uint64_t at_ns) noexcept { deadline_ns_ = std::min(deadline_ns_, at_ns); }

    // The slots whose processes are gone and not yet marked dead, or marked by others, who do not know how they ended.
    // To be called when the event or the deadline has come.
    [[nodiscard]] std::vector<std::uint32_t> take_lost(std::uint64_t now_ns);

private:
    void watch(std::uint64_t now_ns);

    const node::Segment* segment_ = nullptr;
    os::PollSet* poll_ = nullptr;
    std::uint64_t token_ = 0;
    std::uint64_t watch_at_ns_ = 0;  // poll_forever: it was tried
    std::optional<os::CloseWatch> watch_;
    std::uint64_t deadline_ns_ = os::poll_forever;
    std::uint64_t pause_ns_ = os::poll_forever;  // before the next look after the kernel told
};

}  // namespace acp::agent
