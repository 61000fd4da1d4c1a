// SPDX-License-Identifier: BSD-3-Clause
// A model of the message library that paper 003 compares with ("orig"): each message by itself, on two engines in turn; one of
// more than eager_bytes is asked for first, which costs one command more. Fitted to the two ratios the paper states: about twice
// the time of BLbased(4) with four directions and with eight. Pure; any thread.
// Tests: tests/unit/exchange/eager_rendezvous_test.cpp.
#pragma once

#include "exchange/engine_queues.hpp"

namespace acp::exchange {

inline constexpr unsigned eager_rendezvous_engines = 2;
inline constexpr std::uint64_t eager_bytes = 4096;

//   queues  replaced
// Returns how many commands ask for leave to send.
std::size_t eager_rendezvous(const NodeProblem& problem, EngineQueues& queues);

}  // namespace acp::exchange
