// SPDX-License-Identifier: BSD-3-Clause
// Assigns byte ranges of the messages to pieces. Any thread.
#include "exchange/exchange_plan.hpp"

#include "base/assert.hpp"

namespace acp::exchange {

ExchangePlan plan_of(const NodeProblem& problem,
                     const EngineQueues& queues,
                     const LowerBounds& bounds) {
    ExchangePlan plan;
    plan.engines.resize(problem.engines());
    plan.predicted_us = exchange_us(problem, queues);
    plan.bounds = bounds;
    std::vector<std::uint64_t> planned(problem.messages().size());
    for (std::uint32_t e = 0; e < problem.engines(); ++e) {
        for (const QueuedPiece& piece : queues.of[e]) {
            const auto bytes = static_cast<std::uint64_t>(piece.bytes);
            plan.engines[e].push_back({piece.message, e, planned[piece.message], bytes});
            planned[piece.message] += bytes;
        }
    }
    for (std::size_t i = 0; i < planned.size(); ++i)
        ACP_ASSERT(planned[i] == static_cast<std::uint64_t>(problem.messages()[i].bytes));
    return plan;
}

}  // namespace acp::exchange
