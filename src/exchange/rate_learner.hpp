// SPDX-License-Identifier: BSD-3-Clause
// Learns the numbers of a network from the exchanges of a plan, and makes a new plan when that is
// better by what it has learned. It starts from assumed numbers. The caller reports how long each
// exchange took, and the learner fits rates and costs to the last few exchanges, close to its
// previous numbers. Reads no clock. One thread per object.
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
    //   problem  with the assumed numbers
    RateLearner(const NodeProblem& problem, PlanEffort effort);

    // The plan for the next exchange, and its predicted time.
    [[nodiscard]] const EngineQueues& queues() const noexcept { return *queues_; }

    [[nodiscard]] double predicted_us() const noexcept { return predicted_us_; }

    // The problem with the current numbers.
    [[nodiscard]] const NodeProblem& problem() const noexcept { return problem_; }

    // Notes that an exchange with queues() has ended.
    //   end_us  the end of each engine, measured from the start of the exchange; 0: the engine had
    //           no
    //           message, or its end is unknown
    void note(double total_us, std::span<const double> end_us);

private:
    // An exchange that was made; the last value is the end of all engines.
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
    std::size_t until_plan_ = 0;  // exchanges until the next plan
};

}  // namespace acp::exchange
