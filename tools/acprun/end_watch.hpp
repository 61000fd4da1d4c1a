// SPDX-License-Identifier: BSD-3-Clause
// Watches, while a job is to end or is over on some of its nodes, that its agents still answer: asks each for a sign of
// life, and names those that have given none in time. An agent that is stopped, or whose host or connection is frozen,
// would else keep the job for ever. Ends nothing itself. Main thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "os/poll_set.hpp"

#include "agent_link.hpp"

namespace acp::run {

inline constexpr std::uint64_t answer_ns = 5'000'000'000;  // for an agent to give a sign of life
// So many times in turn where the job is not asked to end: its host may have been suspended, and its ranks may go on.
inline constexpr std::uint32_t silences_max = 3;

class EndWatch {
public:
    // The job is to end, or is over on a node: asks all agents that run and have not said their last. Those that were asked
    // before, and have not answered, keep their time.
    void ask(std::span<AgentLink> agents);

    // The nodes whose agents have not answered in time, which is noted in them; then asks the others again. Nothing before
    // ask().
    [[nodiscard]] std::vector<std::uint32_t> take_silent(std::span<AgentLink> agents);

    // When take_silent() is to be called; poll_forever before ask().
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }

private:
    std::uint64_t deadline_ns_ = os::poll_forever;
};

}  // namespace acp::run
