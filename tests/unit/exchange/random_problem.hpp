// SPDX-License-Identifier: BSD-3-Clause
// Random patterns for the planner's tests: neighbours in two or three dimensions, log-uniform
// sizes. A seed decides. One thread.
#pragma once

#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "exchange/network_presets.hpp"
#include "exchange/node_problem.hpp"

namespace acp::exchange {

// `count` messages of 1 KiB .. 256 KiB to random neighbours.
//   dimensions  2 or 3
inline NodeProblem random_problem(base::Random& random,
                                  std::size_t dimensions,
                                  std::size_t count,
                                  const NodeRates& node = {}) {
    std::vector<OffsetMessage> messages;
    while (messages.size() < count) {
        OffsetMessage message;
        for (std::size_t i = 0; i < dimensions; ++i)
            message.offset[i] = static_cast<std::int32_t>(random.below(3)) - 1;
        if (message.offset == OffsetMessage{}.offset) continue;
        const double power = 10 + 8 * static_cast<double>(random.below(1'000'000)) / 1e6;
        message.bytes = static_cast<std::uint64_t>(std::exp2(power));
        messages.push_back(message);
    }
    const std::vector<std::uint32_t> sizes(dimensions, 8);
    return NodeProblem::symmetric(make_torus(sizes, tofu_link_rate, node).value(), messages)
        .value();
}

}  // namespace acp::exchange
