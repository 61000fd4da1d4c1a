// SPDX-License-Identifier: BSD-3-Clause
// Times that no plan of a problem can beat, from what must pass through each resource. Totals: the start and the commands count. A
// message may be cut into pieces, each a command more. Pure; any thread.
// Tests: tests/unit/exchange/lower_bounds_test.cpp.
#pragma once

#include "exchange/node_problem.hpp"

namespace acp::exchange {

struct LowerBounds {
    // Each link, injection and all engines together have to carry what there is. Often out of reach.
    double simple_us = 0;
    // And a message that is not cut takes as long as one engine needs for it, while cutting it costs a command.
    double split_us = 0;
    // The same over the optimum of the configuration program (configuration_program.hpp); 0: not computed.
    double configuration_us = 0;

    // The best of them.
    [[nodiscard]] double most_us() const noexcept {
        return configuration_us > split_us ? configuration_us : split_us;
    }
};

// The least time of the transfer by the loads of links, injection and engines.
[[nodiscard]] double load_bound_us(const NodeProblem& problem);

// The least time of the exchange when the transfer takes at least `transfer`, over all numbers of messages that are cut.
[[nodiscard]] double split_bound_us(const NodeProblem& problem, double transfer);

// simple_us and split_us.
[[nodiscard]] LowerBounds quick_bounds(const NodeProblem& problem);

// All three: takes as long as configuration_bound_us().
[[nodiscard]] LowerBounds all_bounds(const NodeProblem& problem);

}  // namespace acp::exchange
