// SPDX-License-Identifier: BSD-3-Clause
// A model of the message library with which paper 003 compares ("orig"): messages alternate between
// two engines; one of more than eager_bytes needs a further command that requests leave to send.
// Fitted to the two ratios that the paper states: about twice the time of BLbased(4) with four
// directions and with eight. Pure; any thread.
// Tests: tests/unit/exchange_study/eager_rendezvous_test.cpp.
#pragma once

#include "exchange/engine_queues.hpp"

namespace acp::exchange_study {

inline constexpr unsigned eager_rendezvous_engines = 2;
inline constexpr std::uint64_t eager_bytes = 4096;

// Returns how many commands request leave to send.
//   queues  replaced
std::size_t eager_rendezvous(const exchange::NodeProblem& problem, exchange::EngineQueues& queues);

}  // namespace acp::exchange_study
