// SPDX-License-Identifier: BSD-3-Clause
// BLbased(d) of paper 003 (RSched). Messages, longest first and then by direction, are rectangles:
// one engine wide, and as high as their time at the full rate of a link. Each is put at the lowest
// place, and there at the leftmost engine, where no two messages of the same direction are sent at
// once, and at most d diagonals. Holes below an engine's last rectangle are not filled, as an
// engine sends in order. Two variants: hop-aware, where no two messages that share any link are
// sent at once; and one for short messages, in which each engine begins with a pseudo-request of
// its stair (the paper's figure 14). Pure; one thread per object.
// Source: paper 003, section 3.2.2; Baker, Coffman, Rivest 1980. Tests:
// tests/unit/exchange/bottom_left_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "exchange/engine_queues.hpp"
#include "exchange/occupancy.hpp"

namespace acp::exchange {

inline constexpr double paper_link_rate = 5000;  // MB/s, as the paper has it

struct BottomLeftRules {
    unsigned diagonals = 4;     // how many at once; 1 .. engines_max
    bool is_hop_aware = false;  // compares links instead of directions
    bool has_stairs = false;    // engine e begins at e times stair_us
    double rate = paper_link_rate;
};

class BottomLeft {
public:
    //   queues  replaced
    void pack(const NodeProblem& problem, const BottomLeftRules& rules, EngineQueues& queues);

    // When each message begins in the packing, at the rate of the rules; by its index.
    [[nodiscard]] const std::vector<double>& begin_us() const noexcept { return begin_us_; }

private:
    // The earliest time from `begin` on at which a rectangle of that class and height violates no
    // rule.
    [[nodiscard]] double lowest(const NodeProblem& problem,
                                const BottomLeftRules& rules,
                                ClassIndex route_class,
                                double begin,
                                double height) const;
    void place(const NodeProblem& problem,
               bool is_hop_aware,
               ClassIndex route_class,
               double begin,
               double end);

    // One per class (hop-aware: per link); and one for the diagonals.
    std::vector<Occupancy> exclusive_;
    Occupancy diagonals_;
    std::vector<std::uint32_t> order_;
    std::vector<double> begin_us_;
};

}  // namespace acp::exchange
