// SPDX-License-Identifier: BSD-3-Clause
// Queues messages as that library would. Any thread.
#include "exchange_study/eager_rendezvous.hpp"

#include <algorithm>

#include "exchange/round_robin.hpp"

namespace acp::exchange_study {

std::size_t eager_rendezvous(const exchange::NodeProblem& problem, exchange::EngineQueues& queues) {
    exchange::round_robin(problem, eager_rendezvous_engines, queues);
    const auto& messages = problem.messages();
    return static_cast<std::size_t>(std::count_if(
        messages.begin(), messages.end(), [](const exchange::ProblemMessage& message) {
            return message.bytes > static_cast<double>(eager_bytes);
        }));
}

}  // namespace acp::exchange_study
