// SPDX-License-Identifier: BSD-3-Clause
// Lower bounds for the times of all plans of a problem, from the bytes that each resource must
// carry. They include the start and the commands. A message may be cut into pieces, each a further
// command. Pure; any thread.
// Tests: tests/unit/exchange/lower_bounds_test.cpp.
#pragma once

#include "exchange/node_problem.hpp"

namespace acp::exchange {

struct LowerBounds {
    // From the loads of each link, of injection and of all engines together. Often not attainable.
    double simple_us = 0;
    // simple_us, with the fact that an uncut message occupies one engine for its whole time, and
    // each cut costs a command.
    double split_us = 0;
    // split_us, with the optimum of the configuration program (configuration_program.hpp) as the
    // transfer; 0: not computed.
    double configuration_us = 0;

    // The largest, thus best, bound.
    [[nodiscard]] double most_us() const noexcept {
        return configuration_us > split_us ? configuration_us : split_us;
    }
};

// The least time of the transfer by the loads of links, injection and engines.
[[nodiscard]] double load_bound_us(const NodeProblem& problem);

// The least time of the exchange if the transfer takes at least `transfer`, over all numbers of cut
// messages.
[[nodiscard]] double split_bound_us(const NodeProblem& problem, double transfer);

// simple_us and split_us.
[[nodiscard]] LowerBounds quick_bounds(const NodeProblem& problem);

// All three bounds; takes as long as configuration_bound_us().
[[nodiscard]] LowerBounds all_bounds(const NodeProblem& problem);

}  // namespace acp::exchange
