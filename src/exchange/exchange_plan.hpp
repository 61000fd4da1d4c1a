// SPDX-License-Identifier: BSD-3-Clause
// A plan in the form that is stored and carried out: the commands of each engine in order, each a
// part of a message; the predicted time; and lower bounds, which limit how far it is from the
// optimum. Values; any thread.
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
    std::vector<std::vector<PlannedCommand>> engines;  // the queue of each engine
    double predicted_us = 0;
    LowerBounds bounds;

    // By how much the plan may be longer than the optimum, relative to it; 0: it is optimal.
    [[nodiscard]] double gap() const noexcept { return predicted_us / bounds.most_us() - 1; }
};

// Makes a plan of queues whose pieces are whole bytes and together all messages: the pieces of a
// message get its bytes in the order of engines and places. The receive engine has the number of
// the sending engine.
[[nodiscard]] ExchangePlan plan_of(const NodeProblem& problem,
                                   const EngineQueues& queues,
                                   const LowerBounds& bounds);

}  // namespace acp::exchange
