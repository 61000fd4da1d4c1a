// SPDX-License-Identifier: BSD-3-Clause
// The configuration program. At each moment a set of flows runs, one per busy engine, with max-min
// fair rates. How long must each set run so that all bytes are sent? Every plan, however it cuts
// messages, is a solution of this linear program, so its optimum is a lower bound of the transfer.
// It is solved by the simplex method over all sets; the bound is computed from the dual prices, and
// holds even if they are not quite optimal. Pure; any thread.
// Source: docs/guide/exchange.md. Tests: tests/unit/exchange/configuration_program_test.cpp.
#pragma once

#include "exchange/node_problem.hpp"

namespace acp::exchange {

// Sets of flows. 26 directions on 4 engines have 27 404.
inline constexpr std::size_t configurations_max = 60'000;

// A lower bound of the transfer; 0: there are more sets than configurations_max. Takes tens of
// microseconds for 8 directions, milliseconds for 26.
[[nodiscard]] double configuration_bound_us(const NodeProblem& problem);

}  // namespace acp::exchange
