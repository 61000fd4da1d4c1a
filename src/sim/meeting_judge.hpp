// SPDX-License-Identifier: BSD-3-Clause
// Has nodes come to the meetings of a run and sees to their rules: a meeting is over when all nodes have come, not before, and
// what it gathered is right everywhere. None is due once a node is cut or a process dead. Knows routers by what they are asked
// and tell. One thread. Tests: tests/unit/sim/world_test.cpp.
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
    //   all must outlive it
    MeetingJudge(const Plan& plan, const Casualties& casualties, Judge& judge);

    // As many meetings as the plan says follow.
    void begin_round(Time now, base::Random& random);

    // Has a node come to its next meeting, if it is time.   returns when to be asked again; datagram::never: it need not be
    Time issue(NodeId node, Time now, router::Router& router);

    // What the router of a node tells.
    void on_met(NodeId node, std::uint32_t number, std::span<const std::uint32_t> table);

    // All meetings are over at all nodes.
    [[nodiscard]] bool is_done() const;

    // A meeting some nodes came to will never be over, because a process that should come is dead.
    [[nodiscard]] bool is_stuck() const;

    // The meeting that is due at a node, for a message; empty: none.
    [[nodiscard]] std::string unfinished(NodeId node) const;

private:
    // The meetings of a node.
    struct Met {
        std::uint32_t called = 0;
        std::uint32_t ended = 0;
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
    std::vector<Met> meetings_;        // per node
    std::vector<std::uint32_t> come_;  // per meeting: nodes that have
    std::uint32_t goal_ = 0;
};

// The value a process of a node brings to a meeting.
[[nodiscard]] std::uint32_t wanted_value(std::uint64_t seed,
                                         std::uint32_t number,
                                         std::uint32_t process);

}  // namespace acp::sim
