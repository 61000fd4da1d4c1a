// SPDX-License-Identifier: BSD-3-Clause
// BLbased. One thread per object.
#include "exchange/bottom_left.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace acp::exchange {

namespace {

constexpr double moment_us = 1e-9;  // what is shorter is no overlap

bool is_diagonal(const NodeProblem& problem, ClassIndex route_class) {
    return problem.classes()[route_class].dimensions > 1;
}

}  // namespace

void BottomLeft::pack(const NodeProblem& problem,
                      const BottomLeftRules& rules,
                      EngineQueues& queues) {
    queues.clear();
    placed_.clear();
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
        double best = 1e300;
        unsigned engine = 0;
        for (unsigned e = 0; e < problem.engines(); ++e) {
            if (top[e] >= best) continue;
            const double begin = lowest(problem, rules, message.route_class, top[e], height);
            if (begin >= best - 1e-12) continue;
            best = begin;
            engine = e;
        }
        placed_.push_back({best, best + height, message.route_class});
        if (is_diagonal(problem, message.route_class)) diagonals_.push_back(placed_.back());
        begin_us_[i] = best;
        top[engine] = best + height;
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
        double next = after_conflicts(problem, rules, route_class, begin, begin + height);
        if (next == begin && is_limited)
            next = after_diagonals(rules.diagonals, begin, begin + height);
        if (next == begin) return begin;
        begin = next;
    }
}

// The end of the last rectangle that stands in the way, which is in the way of every begin before its end too; else `begin`.
double BottomLeft::after_conflicts(const NodeProblem& problem,
                                   const BottomLeftRules& rules,
                                   ClassIndex route_class,
                                   double begin,
                                   double end) const {
    const std::uint64_t links = problem.classes()[route_class].links;
    double next = begin;
    for (const Rectangle& other : placed_) {
        if (other.begin >= end - moment_us || other.end <= begin + moment_us) continue;
        const bool is_conflict = rules.is_hop_aware
                                     ? (problem.classes()[other.route_class].links & links) != 0
                                     : other.route_class == route_class;
        if (is_conflict) next = std::max(next, other.end);
    }
    return next;
}

// When one more diagonal is too many at some moment before `end`: the first end of one of them; else `begin`.
double BottomLeft::after_diagonals(unsigned most, double begin, double end) const {
    double first_end = 1e300;
    bool are_too_many = false;
    const auto running_at = [&](double moment) {
        return std::count_if(diagonals_.begin(), diagonals_.end(), [&](const Rectangle& one) {
            return one.begin <= moment + moment_us && one.end > moment + moment_us;
        });
    };
    for (const Rectangle& one : diagonals_) {
        if (one.begin >= end - moment_us || one.end <= begin + moment_us) continue;
        first_end = std::min(first_end, one.end);
        // The number of those that run changes upward only where one begins.
        are_too_many = are_too_many || running_at(std::max(one.begin, begin)) >= most;
    }
    return are_too_many ? first_end : begin;
}

}  // namespace acp::exchange
