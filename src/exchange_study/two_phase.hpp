// SPDX-License-Identifier: BSD-3-Clause
// The exchange in phases, one per dimension (Palmer and Nieplocha 2002, Hoefler and Schneider
// 2012). All bytes move along the first dimension first; then along the second, together with those
// that have just arrived and must be forwarded; and so on. There are no diagonals and fewer
// commands; but a phase starts only after the one before it has arrived, so engines cannot work
// independently. Each phase pays the start of an exchange. Packed by BLbased(4). Pure; any thread.
// Tests: tests/unit/exchange_study/two_phase_test.cpp.
#pragma once

#include <vector>

#include "exchange/engine_queues.hpp"

namespace acp::exchange_study {

struct ExchangePhase {
    exchange::NodeProblem problem;
    exchange::EngineQueues queues;
};

// Phases without a message are omitted. Forwarded bytes are spread over the messages of their next
// direction; a direction without a message gets one.
[[nodiscard]] std::vector<ExchangePhase> two_phase(const exchange::NodeProblem& problem);

[[nodiscard]] double exchange_us(const std::vector<ExchangePhase>& phases);

}  // namespace acp::exchange_study
