// SPDX-License-Identifier: BSD-3-Clause
// While a job is to end, or is over on some of its nodes, checks that its agents still answer: asks
// each for a sign of life, and returns those that gave none in time. Otherwise an agent that is
// stopped, or whose host or connection is frozen, would keep the job for ever. While the job runs
// it only polls which processes of this machine that stand for an agent are stopped. Ends nothing
// itself. Main thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "os/poll_set.hpp"

#include "../acp-agent/stop_watch.hpp"
#include "agent_link.hpp"

namespace acp::run {

// time for an agent to give a sign of life
inline constexpr std::uint64_t answer_ns = 5'000'000'000;
// The number of consecutive unanswered requests that an agent may have before the job is to end:
// the agent's host may have been suspended, and its ranks still run when it resumes.
inline constexpr std::uint32_t silences_max = 3;

class EndWatch {
public:
    // Call when the job is to end, or is over on a node: asks all agents that run and have not sent
    // their last line. Agents that were asked before and have not answered keep their deadline.
    void ask(std::span<AgentLink> agents);

    // Returns the nodes whose agents have not answered in time, notes that in them, and asks the
    // others again. Returns none before ask().
    [[nodiscard]] std::vector<std::uint32_t> take_silent(std::span<AgentLink> agents);

    // Starts polling for stopped agents.
    void start(std::uint64_t now_ns) noexcept { stops_.start(now_ns); }

    // Polls when it is due. Returns the nodes whose agents, or the local processes that carry the
    // connection to them, were found stopped twice in a row: ranges, at each poll, or
    // agent::StopWatch::none once they continue; nullopt when there is nothing to report.
    [[nodiscard]] std::optional<std::string> poll_stopped(std::span<const AgentLink> agents,
                                                          std::uint64_t now_ns);

    // When take_silent() or poll_stopped() must be called; poll_forever before ask() and start().
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept {
        return std::min(deadline_ns_, stops_.deadline_ns());
    }

private:
    std::uint64_t deadline_ns_ = os::poll_forever;
    agent::StopWatch stops_;
};

}  // namespace acp::run
