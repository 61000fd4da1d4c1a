// SPDX-License-Identifier: BSD-3-Clause
// Asks the agents of all nodes what their ranks do, and makes one text of the answers: for each
// rank the call in which it waits and the ranks for which it waits, or that it waits in no call, is
// stopped, or has ended. The user asks by SIGUSR2; an agent asks when one of its ranks has waited
// too long. One roll-call runs at a time: a request during it adds nothing, and its text answers
// both. Each answer carries the number of its roll-call, so that a late one is not taken for an
// answer to the next. Prints nothing. Main thread. Tests: tests/tools/acprun/roll_call_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/awaited.hpp"
#include "os/poll_set.hpp"

#include "agent_link.hpp"
#include "plan.hpp"

namespace acp::run {

class RollCall {
public:
    // Asks all agents that run.   reason  why, the beginning of the text
    void ask(std::span<AgentLink> agents, std::string reason);

    // Starts a roll-call because a rank has waited for longer than `allowed_ns`. Does nothing
    // during a roll-call, or within `allowed_ns` after the last one of this kind: ranks that wait
    // for each other reach the limit together, and one text shows them all.
    void ask_about_hang(std::span<AgentLink> agents, std::uint64_t allowed_ns);

    // An agent has sent what one rank does.   answer  the number of the call, and the rank's words
    void add(std::string_view answer);

    // An agent has sent all that it has to say to the call of this number.
    void note_told(AgentLink& agent, std::string_view number) const;

    // The text, once, when all agents that still run have answered or their time is over; call it
    // when an agent has answered or is gone, and at the deadline.
    [[nodiscard]] std::optional<std::string> take(std::span<const AgentLink> agents,
                                                  const PlannedJob& job);

    // The time at which take() stops waiting for answers; poll_forever outside a roll-call.
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return until_ns_; }

    // Cancels the current roll-call. acprun is about to ask the agents for the end, and their
    // answers to that report what the ranks did.
    void give_up();

    // Returns the answers that add() has collected, and forgets them: a line per group of ranks,
    // each after a line break.
    [[nodiscard]] std::string take_lines();

private:
    static constexpr std::uint64_t unasked = 0;  // the number that no roll-call has

    [[nodiscard]] bool is_current(std::string_view number) const noexcept;

    std::string reason_;  // empty outside a roll-call
    std::uint64_t calls_ = 0;
    std::uint64_t number_ = unasked;  // number of the current roll-call
    std::uint64_t until_ns_ = os::poll_forever;
    std::uint64_t hang_told_ns_ = 0;
    std::vector<node::Doing> doings_;
};

}  // namespace acp::run
