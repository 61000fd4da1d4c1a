// SPDX-License-Identifier: BSD-3-Clause
// Sends nodes to the meetings (barriers) of a run and checks the rules: a meeting ends when all nodes have come and not before,
// and what it gathered is right everywhere. No meeting is begun once a node was severed or a process died. Knows routers by
// their calls and reports alone. One thread. Tests: tests/unit/sim/world_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "router/router.hpp"
#include "sim/casualties.hpp"

namespace acp::sim {

class MeetingJudge {
public:
    // All arguments must outlive it.
    MeetingJudge(const Plan& plan, const Casualties& casualties, Judge& judge);

    // Begins a round: as many meetings as the plan says follow.
    void begin_round(Time now, base::Random& random);

    // Sends a node to its next meeting when it is time. Returns when to call again; datagram::never: no need.
    Time issue(NodeId node, Time now, router::Router& router);

    // Judges the end of a meeting, as the router of a node reports it.
    //   table  what the meeting gathered
    void on_met(NodeId node, std::uint32_t number, std::span<const std::uint32_t> table);

    // Whether all meetings have ended at all nodes.
    [[nodiscard]] bool is_done() const;

    // Whether a meeting that some nodes came to can never end, because a process that should come is dead.
    [[nodiscard]] bool is_stuck() const;

    // The meeting that a node has still to attend, for a message; empty: none.
    [[nodiscard]] std::string unfinished(NodeId node) const;

private:
    // How far a node is with its meetings.
    struct Met {
        std::uint32_t called = 0;  // meetings that it came to
        std::uint32_t ended = 0;   // of them, those that have ended; at most one has not
        Time next_call = 0;
    };

    void come(NodeId node, Time now, router::Router& router);
    [[nodiscard]] router::Meeting::Content gathers_in(std::uint32_t number) const noexcept;
    [[nodiscard]] router::Meeting::Words words_of(NodeId node, std::uint32_t number) const noexcept;
    void check_least(NodeId node, std::uint32_t number, std::span<const std::uint32_t> least);
    void check_table(NodeId node, std::uint32_t number, std::span<const std::uint32_t> table);

    const Plan* plan_;
    const Casualties* casualties_;
    Judge* judge_;
    std::vector<Met> meetings_;        // one per node
    std::vector<std::uint32_t> come_;  // per meeting: how many nodes have come
    std::uint32_t goal_ = 0;           // meetings until the end of this round
};

// The value that a process brings to a meeting; follows from the arguments, so that every node can check the table.
[[nodiscard]] std::uint32_t wanted_value(std::uint64_t seed,
                                         std::uint32_t number,
                                         std::uint32_t process);

}  // namespace acp::sim
