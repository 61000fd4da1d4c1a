// SPDX-License-Identifier: BSD-3-Clause
// The packing algorithm. One thread per object.
#include "exchange/bottom_left.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace acp::exchange {

namespace {

constexpr double moment = 1e-12;  // times that are closer are the same

bool is_diagonal(const NodeProblem& problem, ClassIndex route_class) {
    return problem.classes()[route_class].dimensions > 1;
}

}  // namespace

void BottomLeft::pack(const NodeProblem& problem,
                      const BottomLeftRules& rules,
                      EngineQueues& queues) {
    queues.clear();
    exclusive_.resize(std::max(problem.classes().size(), problem.link_rates().size()));
    for (Occupancy& one : exclusive_) one.clear();
    diagonals_.clear();
    const auto& messages = problem.messages();
    begin_us_.assign(messages.size(), 0);
    order_.resize(messages.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (messages[a].bytes != messages[b].bytes) return messages[a].bytes > messages[b].bytes;
        return messages[a].route_class < messages[b].route_class;
    });
    std::array<double, engines_max> top{};
    for (unsigned e = 0; rules.has_stairs && e < problem.engines(); ++e)
        top[e] = problem.node().stair_us * e;
    for (const std::uint32_t i : order_) {
        const ProblemMessage& message = messages[i];
        const double height = message.bytes / rules.rate;
        // The engine that is free first finds the lowest place: one that is free earlier never
        // finds a later place. Any engine that is free by then finds the same one.
        const auto last = top.begin() + problem.engines();
        const double begin = lowest(problem, rules, message.route_class,
                                    *std::min_element(top.begin(), last), height);
        const auto engine = static_cast<unsigned>(
            std::find_if(top.begin(), last, [&](double end) { return end <= begin + moment; }) -
            top.begin());
        place(problem, rules.is_hop_aware, message.route_class, begin, begin + height);
        begin_us_[i] = begin;
        top[engine] = begin + height;
        queues.of[engine].push_back({message.bytes, i, message.route_class});
    }
}

double BottomLeft::lowest(const NodeProblem& problem,
                          const BottomLeftRules& rules,
                          ClassIndex route_class,
                          double begin,
                          double height) const {
    const bool is_limited =
        rules.diagonals < problem.engines() && is_diagonal(problem, route_class);
    for (;;) {
        double next = begin;
        if (rules.is_hop_aware) {
            for (std::uint64_t left = problem.classes()[route_class].links; left != 0;
                 left &= left - 1) {
                next = exclusive_[static_cast<std::size_t>(std::countr_zero(left))].earliest(
                    next, height, 1);
            }
        } else {
            next = exclusive_[route_class].earliest(next, height, 1);
        }
        if (is_limited) next = diagonals_.earliest(next, height, rules.diagonals);
        if (next == begin) return begin;
        begin = next;
    }
}

void BottomLeft::place(const NodeProblem& problem,
                       bool is_hop_aware,
                       ClassIndex route_class,
                       double begin,
                       double end) {
    if (is_diagonal(problem, route_class)) diagonals_.add(begin, end);
    if (!is_hop_aware) return exclusive_[route_class].add(begin, end);
    for (std::uint64_t left = problem.classes()[route_class].links; left != 0; left &= left - 1)
        exclusive_[static_cast<std::size_t>(std::countr_zero(left))].add(begin, end);
}

}  // namespace acp::exchange
