// SPDX-License-Identifier: BSD-3-Clause
// Balances the ends of a plan: moves a piece, or part of one, from the engine that ends last to the
// one that ends first, as long as this is a gain of more than the cost of a further command. One
// thread per object, which keeps its memory.
// Tests: tests/unit/exchange/tail_balance_test.cpp.
#pragma once

#include <array>

#include "exchange/engine_queues.hpp"

namespace acp::exchange {

inline constexpr int balance_rounds_max = 6;

class TailBalance {
public:
    // Returns the time of the exchange.
    //   rates        without steps left, no more moves are tried
    //   queues       changed to the best plan found
    //   good_enough  a time of the exchange at which no more moves are tried
    //   may_split    a piece may be cut
    double improve(RateMemo& rates, double good_enough, bool may_split, EngineQueues& queues);

private:
    using EngineEnds = std::array<double, engines_max>;

    // A plan, its time, and the measure to be minimized.
    struct Trial {
        EngineQueues queues;
        EngineEnds ends{};
        double exchange = 0;
        double measure = 0;
    };

    void evaluate(RateMemo& rates, Trial& trial) const;
    bool try_moves(RateMemo& rates, unsigned last, unsigned first, bool may_split);
    bool cut(RateMemo& rates, unsigned last, std::size_t place, unsigned first, double bytes);

    Trial now_, trial_, best_move_;
};

}  // namespace acp::exchange
