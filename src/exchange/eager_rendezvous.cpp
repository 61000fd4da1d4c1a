// SPDX-License-Identifier: BSD-3-Clause
// Queues messages as that library would. Any thread.
#include "exchange/eager_rendezvous.hpp"

#include <algorithm>

#include "exchange/round_robin.hpp"

namespace acp::exchange {

std::size_t eager_rendezvous(const NodeProblem& problem, EngineQueues& queues) {
    round_robin(problem, eager_rendezvous_engines, queues);
    const auto& messages = problem.messages();
    return static_cast<std::size_t>(
        std::count_if(messages.begin(), messages.end(), [](const ProblemMessage& message) {
            return message.bytes > static_cast<double>(eager_bytes);
        }));
}

}  // namespace acp::exchange
