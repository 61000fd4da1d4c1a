// SPDX-License-Identifier: BSD-3-Clause
// Bounds from loads, and from messages that are not cut. Any thread.
#include "exchange/lower_bounds.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "exchange/configuration_program.hpp"
#include "exchange/engine_queues.hpp"

namespace acp::exchange {

double load_bound_us(const NodeProblem& problem) {
    std::array<double, problem_links_max> load{};
    double total = 0;
    for (const ProblemMessage& message : problem.messages()) {
        total += message.bytes;
        for (std::uint64_t left = problem.classes()[message.route_class].links; left != 0;
             left &= left - 1) {
            const auto link = static_cast<unsigned>(std::countr_zero(left));
            load[link] += message.bytes * problem.uses(message.route_class, link);
        }
    }
    const NodeRates& node = problem.node();
    double bound = std::max(total / node.injection_rate, total / (node.engines * node.engine_rate));
    for (std::size_t i = 0; i < problem.link_rates().size(); ++i)
        bound = std::max(bound, load[i] / problem.link_rates()[i]);
    return bound;
}

double split_bound_us(const NodeProblem& problem, double transfer) {
    // If the k longest messages are cut, the next one is sent whole.
    std::vector<double> alone;
    alone.reserve(problem.messages().size() + 1);
    for (const ProblemMessage& message : problem.messages())
        alone.push_back(problem.alone_us(message));
    std::sort(alone.begin(), alone.end(), std::greater<>());
    alone.push_back(0);
    double best = 1e300;
    for (std::size_t k = 0; k < alone.size(); ++k) {
        const std::size_t commands = problem.messages().size() + k;
        best = std::min(best, exchange_us(problem, std::max(transfer, alone[k]), commands));
        if (alone[k] <= transfer) break;  // further pieces only add commands
    }
    return best;
}

LowerBounds quick_bounds(const NodeProblem& problem) {
    const double transfer = load_bound_us(problem);
    return {exchange_us(problem, transfer, problem.messages().size()),
            split_bound_us(problem, transfer), 0};
}

LowerBounds all_bounds(const NodeProblem& problem) {
    LowerBounds bounds = quick_bounds(problem);
    const double transfer = configuration_bound_us(problem);
    if (transfer > 0) {
        bounds.configuration_us = std::max(bounds.split_us, split_bound_us(problem, transfer));
    }
    return bounds;
}

}  // namespace acp::exchange
