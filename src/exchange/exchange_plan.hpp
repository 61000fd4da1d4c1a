// SPDX-License-Identifier: BSD-3-Clause
// A plan as it is kept and carried out: for each engine the commands it sends, in order, each a part of a message; what it is
// expected to take, and how far at most it is from the best there is. Values; any thread.
// Tests: tests/unit/exchange/exchange_plan_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exchange/engine_queues.hpp"
#include "exchange/lower_bounds.hpp"

namespace acp::exchange {

struct PlannedCommand {
    std::uint32_t message = 0;  // index in the pattern
    std::uint32_t receive_engine = 0;
    std::uint64_t offset_bytes = 0;  // within the message
    std::uint64_t bytes = 0;
};

struct ExchangePlan {
    std::vector<std::vector<PlannedCommand>> engines;  // the queue of each
    double predicted_us = 0;
    LowerBounds bounds;

    // By how much the plan may be longer than the best one, as a share of it; 0: it is the best.
    [[nodiscard]] double gap() const noexcept { return predicted_us / bounds.most_us() - 1; }
};

// The plan of queues whose pieces are whole bytes and together all messages: pieces of a message are given its bytes in the order of
// engines and places. The engine that receives has the number of the one that sends.
[[nodiscard]] ExchangePlan plan_of(const NodeProblem& problem,
                                   const EngineQueues& queues,
                                   const LowerBounds& bounds);

}  // namespace acp::exchange
