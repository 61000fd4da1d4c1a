// SPDX-License-Identifier: BSD-3-Clause
// RoundRobin(n) of paper 003: message i goes to engine i modulo n. The order of the messages alone
// determines the result. Pure; any thread.
// Tests: tests/unit/exchange/round_robin_test.cpp.
#pragma once

#include "exchange/engine_queues.hpp"

namespace acp::exchange {

//   engines  >= 1; at most those of the node are used
//   queues   replaced
void round_robin(const NodeProblem& problem, unsigned engines, EngineQueues& queues);

}  // namespace acp::exchange
