// SPDX-License-Identifier: BSD-3-Clause
// The scheduler. Any thread.
#include "exchange/round_robin.hpp"

#include <algorithm>

namespace acp::exchange {

void round_robin(const NodeProblem& problem, unsigned engines, EngineQueues& queues) {
    queues.clear();
    const unsigned count = std::min(engines, problem.engines());
    const auto& messages = problem.messages();
    for (std::uint32_t i = 0; i < messages.size(); ++i)
        queues.of[i % count].push_back({messages[i].bytes, i, messages[i].route_class});
}

}  // namespace acp::exchange
