// SPDX-License-Identifier: BSD-3-Clause
// Starts the meetings (barriers) of a run on each node and checks the rules: a meeting ends when
// all nodes have joined it and not before, and all nodes get the right table. Starts no meeting
// after a node was severed or a process died. Knows routers by their calls and reports alone. One
// thread. Tests: tests/unit/sim/world_test.cpp.
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

    // Makes a node join its next meeting when it is time. Returns when to call again;
    // datagram::never: no need.
    Time issue(NodeId node, Time now, router::Router& router);

    // Judges the end of a meeting that the router of a node reports.
    //   table  the values that the meeting gathered
    void on_met(NodeId node, std::uint32_t number, std::span<const std::uint32_t> table);

    // Whether all meetings have ended at all nodes.
    [[nodiscard]] bool is_done() const;

    // Whether a node joined a meeting that has not ended there. If Referee::is_done(), a loss keeps
    // that meeting from ending.
    [[nodiscard]] bool is_stuck() const;

    // Names the meeting that has not ended at a node, for a message; empty: none.
    [[nodiscard]] std::string unfinished(NodeId node) const;

private:
    // The meetings of one node.
    struct Met {
        std::uint32_t called = 0;  // meetings that it joined
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
    std::vector<std::uint32_t> come_;  // per meeting: how many nodes have joined
    std::uint32_t goal_ = 0;           // meetings until the end of this round
};

// The value that a process contributes to a meeting: a function of the arguments, so that every
// node can check the table.
[[nodiscard]] std::uint32_t wanted_value(std::uint64_t seed,
                                         std::uint32_t number,
                                         std::uint32_t process);

}  // namespace acp::sim
