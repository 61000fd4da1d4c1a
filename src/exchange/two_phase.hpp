// SPDX-License-Identifier: BSD-3-Clause
// The exchange in phases, one per dimension (Palmer and Nieplocha 2002, Hoefler and Schneider 2012): first all that moves along
// the first dimension, then, together with what has just arrived and goes on, along the second, and so on. No diagonals, fewer
// commands; but a phase cannot begin before the one before it has arrived, so engines cannot work alone. Each phase pays the
// start of an exchange. Packed by BLbased(4). Pure; any thread.
// Tests: tests/unit/exchange/two_phase_test.cpp.
#pragma once

#include <vector>

#include "exchange/engine_queues.hpp"

namespace acp::exchange {

struct ExchangePhase {
    NodeProblem problem;
    EngineQueues queues;
};

// Phases without a message are left out. The bytes of a message that goes on are spread over the messages of that direction; a
// direction without any gets one.
[[nodiscard]] std::vector<ExchangePhase> two_phase(const NodeProblem& problem);

[[nodiscard]] double exchange_us(const std::vector<ExchangePhase>& phases);

}  // namespace acp::exchange
