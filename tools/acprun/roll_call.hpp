// SPDX-License-Identifier: BSD-3-Clause
// Asks the agents of all nodes what their ranks do, and makes one text of the answers: who waits where and for whom, who is in
// no wait, who is stopped, who has ended. The user asks by SIGUSR2; an agent asks when one of its ranks has waited too long.
// One call at a time: who asks meanwhile gets the same answer. Calls are numbered, and so are their answers: one that comes late, when the
// call is over, is none to a later one. Prints nothing. Main thread. Tests: tests/tools/acprun/roll_call_test.cpp.
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

    // The same because a rank has waited for longer than `allowed_ns`. Does nothing while a call is under way, or if it asked less than
    // `allowed_ns` ago: those who wait for each other come of age together.
    void ask_about_hang(std::span<AgentLink> agents, std::uint64_t allowed_ns);

    // An agent has sent what one rank does.   answer  the number of the call, and the rank's words
    void add(std::string_view answer);

    // An agent has sent all that it has to say to the call of this number.
    void note_told(AgentLink& agent, std::string_view number) const;

    // The text, once, when all agents that still run have answered or their time is over; call it when an agent has answered or
    // is gone, and at the deadline.
    [[nodiscard]] std::optional<std::string> take(std::span<const AgentLink> agents,
                                                  const PlannedJob& job);

    // When take() is due without answers; poll_forever while nobody has asked.
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return until_ns_; }

    // Gives up a call under way: the agents are about to be asked for the end, and tell then what their ranks did.
    void give_up();

    // What was added since, a line per group of ranks, each after a line break.
    [[nodiscard]] std::string take_lines();

private:
    static constexpr std::uint64_t unasked = 0;  // of answers to no call

    [[nodiscard]] bool is_current(std::string_view number) const noexcept;

    std::string reason_;  // empty: nobody has asked
    std::uint64_t calls_ = 0;
    std::uint64_t number_ = unasked;  // of the call under way
    std::uint64_t until_ns_ = os::poll_forever;
    std::uint64_t hang_told_ns_ = 0;
    std::vector<node::Doing> doings_;
};

}  // namespace acp::run
