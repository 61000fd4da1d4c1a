// SPDX-License-Identifier: BSD-3-Clause
// Splits a problem along the dimensions. Any thread.
#include "exchange_study/two_phase.hpp"

#include <algorithm>
#include <cmath>

#include "exchange/bottom_left.hpp"

namespace acp::exchange_study {

namespace {

// The messages along one link direction only.
struct Direction {
    std::vector<double> bytes;
    double forwarded = 0;  // bytes of messages that also use other dimensions
};

Direction direction_of(const exchange::NodeProblem& problem, unsigned link, unsigned hops) {
    Direction direction;
    for (const exchange::ProblemMessage& message : problem.messages()) {
        const exchange::RouteClass& route = problem.classes()[message.route_class];
        if (problem.uses(message.route_class, link) != hops) continue;
        if (route.dimensions == 1) {
            direction.bytes.push_back(message.bytes);
        } else {
            direction.forwarded += message.bytes;
        }
    }
    if (direction.forwarded > 0 && direction.bytes.empty()) direction.bytes.push_back(0);
    const auto count = static_cast<double>(direction.bytes.size());
    double left = direction.forwarded;
    for (double& bytes : direction.bytes) {
        const double share = std::min(left, std::ceil(direction.forwarded / count));
        bytes += share;
        left -= share;
    }
    return direction;
}

unsigned hops_max(const exchange::NodeProblem& problem, unsigned link) {
    unsigned most = 0;
    for (std::size_t c = 0; c < problem.classes().size(); ++c)
        most = std::max(most, problem.uses(static_cast<exchange::ClassIndex>(c), link));
    return most;
}

}  // namespace

std::vector<ExchangePhase> two_phase(const exchange::NodeProblem& problem) {
    std::vector<ExchangePhase> phases;
    exchange::BottomLeft packer;
    const auto links = static_cast<unsigned>(problem.link_rates().size());
    for (unsigned dimension = 0; dimension < links / 2; ++dimension) {
        std::vector<exchange::OneWay> ways;
        for (unsigned link = 2 * dimension; link < 2 * dimension + 2; ++link) {
            for (unsigned hops = 1; hops <= hops_max(problem, link); ++hops) {
                for (const double bytes : direction_of(problem, link, hops).bytes)
                    ways.push_back({link, hops, bytes});
            }
        }
        if (ways.empty()) continue;
        ExchangePhase phase{problem.along(ways), {}};
        packer.pack(phase.problem, {}, phase.queues);
        phases.push_back(std::move(phase));
    }
    return phases;
}

double exchange_us(const std::vector<ExchangePhase>& phases) {
    double total = 0;
    for (const ExchangePhase& phase : phases) total += exchange_us(phase.problem, phase.queues);
    return total;
}

}  // namespace acp::exchange_study
