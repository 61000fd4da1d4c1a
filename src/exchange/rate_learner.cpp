// SPDX-License-Identifier: BSD-3-Clause
// Makes damped steps of the fit after each exchange, and a new plan after every few. One thread per
// object.
#include "exchange/rate_learner.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace acp::exchange {

namespace {

constexpr std::size_t exchanges_between_plans = 4;
constexpr double surprise = 0.1;  // relative to the predicted time: causes a new plan at once
constexpr double replanned_gain = 1e-3;  // the least predicted gain of a new plan over the old one
constexpr double pull_of_exchange = 0.02;
constexpr unsigned steps_of_exchange = 2;

}  // namespace

RateLearner::RateLearner(const NodeProblem& problem, PlanEffort effort)
    : first_(problem), problem_(problem), effort_(effort), rates_(rates_of(problem.node())) {
    rates_[fitted_reception_rate] = rates_[fitted_injection_rate];
    planner_.plan(problem_, effort_);
    queues_ = std::make_shared<const EngineQueues>(planner_.queues());
    predicted_us_ = exchange_us(problem_, *queues_);
    until_plan_ = exchanges_between_plans;
}

void RateLearner::note(double total_us, std::span<const double> end_us) {
    Seen seen;
    seen.queues = queues_;
    std::copy_n(end_us.begin(), std::min<std::size_t>(end_us.size(), engines_max),
                seen.end_us.begin());
    seen.end_us.back() = total_us;
    if (seen_.size() == remembered_exchanges_max) seen_.pop_front();
    seen_.push_back(std::move(seen));
    const bool is_surprise = std::abs(total_us / predicted_us_ - 1) > surprise;
    fit();
    if (--until_plan_ == 0 || is_surprise) plan();
    predicted_us_ = exchange_us(problem_, *queues_);
}

void RateLearner::fit() {
    std::vector<double> all;
    for (const Seen& seen : seen_) {
        std::copy_if(seen.end_us.begin(), seen.end_us.end(), std::back_inserter(all),
                     [](double end) { return end > 0; });
    }
    const PredictTimes predict = [&](const RateVector& rates, std::span<double> predicted_us) {
        const NodeProblem problem =
            first_.with_rates(exchange::with_rates(first_.node(), rates), rates[fitted_links]);
        auto next = predicted_us.begin();
        for (const Seen& seen : seen_) {
            std::array<double, engines_max> ends{};
            const double transfer = transfer_us(problem, *seen.queues, ends);
            const double costs = exchange_us(problem, 0, seen.queues->pieces());
            for (std::size_t e = 0; e < engines_max; ++e) {
                if (seen.end_us[e] > 0) *next++ = costs + ends[e];
            }
            if (seen.end_us.back() > 0) *next++ = costs + transfer;
        }
    };
    if (all.empty()) return;
    FitOptions options;
    options.rounds = steps_of_exchange;
    options.pull = pull_of_exchange * static_cast<double>(seen_.size());
    options.is_robust = false;
    options.is_reception_tied = true;
    rates_ = fit_rates(rates_, all, predict, options).rates;
    problem_ = first_.with_rates(exchange::with_rates(first_.node(), rates_), rates_[fitted_links]);
}

// Keeps the old plan unless the new one is better by the current numbers.
void RateLearner::plan() {
    until_plan_ = exchanges_between_plans;
    const double time = planner_.plan(problem_, effort_);
    if (time < exchange_us(problem_, *queues_) * (1 - replanned_gain))
        queues_ = std::make_shared<const EngineQueues>(planner_.queues());
}

}  // namespace acp::exchange
