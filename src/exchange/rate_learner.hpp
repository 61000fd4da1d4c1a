// SPDX-License-Identifier: BSD-3-Clause
// Learns the numbers of a network from the exchanges that a plan makes, and plans anew when it has learned enough that another plan is better. It
// begins with a network as it is thought to be, is told how long each exchange took, and fits the rates and costs to the last few of them
// without going far from what it thought before. Reads no clock: it is told. One thread per object.
// Source: docs/guide/exchange.md. Tests: tests/unit/exchange/rate_learner_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>

#include "exchange/exchange_planner.hpp"
#include "exchange/rate_fit.hpp"

namespace acp::exchange {

inline constexpr std::size_t remembered_exchanges_max = 6;

class RateLearner {
public:
    //   problem  with the numbers as they are thought to be
    RateLearner(const NodeProblem& problem, PlanEffort effort);

    // The plan for the next exchange, and how long that is expected to take.
    [[nodiscard]] const EngineQueues& queues() const noexcept { return *queues_; }

    [[nodiscard]] double predicted_us() const noexcept { return predicted_us_; }

    // The problem with the numbers as they are thought to be now.
    [[nodiscard]] const NodeProblem& problem() const noexcept { return problem_; }

    // An exchange with queues() has ended.
    //   end_us  when each engine had done what it had to do, from the call that started the exchange; 0 where it had nothing to do, or nobody knows
    void note(double total_us, std::span<const double> end_us);

private:
    // An exchange that was made. The last value is the end of all.
    struct Seen {
        std::shared_ptr<const EngineQueues> queues;
        std::array<double, engines_max + 1> end_us{};
    };

    void fit();
    void plan();

    const NodeProblem first_;
    NodeProblem problem_;
    PlanEffort effort_;
    ExchangePlanner planner_;
    RateVector rates_;
    std::shared_ptr<const EngineQueues> queues_;
    double predicted_us_ = 0;
    std::deque<Seen> seen_;
    std::size_t until_plan_ = 0;  // exchanges
};

}  // namespace acp::exchange
