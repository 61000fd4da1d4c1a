// SPDX-License-Identifier: BSD-3-Clause
// The configuration program: at each moment some set of flows runs, one per busy engine, with the rates that max-min fairness gives
// them. How long does each set run at least, so that all bytes are sent? Whatever a plan does, however it cuts messages, it is a
// solution of this linear program, so its optimum is a lower bound of the transfer. Solved by the simplex method over all sets; the
// bound is taken from the dual prices and holds even when they are not quite optimal. Pure; any thread.
// Source: docs/guide/exchange.md. Tests: tests/unit/exchange/configuration_program_test.cpp.
#pragma once

#include "exchange/node_problem.hpp"

namespace acp::exchange {

inline constexpr std::size_t configurations_max =
    60'000;  // sets of flows; 26 directions on 4 engines have 27 404

// The bound of the transfer; 0 where there are more sets than configurations_max. Takes tens of microseconds for 8 directions,
// milliseconds for 26.
[[nodiscard]] double configuration_bound_us(const NodeProblem& problem);

}  // namespace acp::exchange
