// SPDX-License-Identifier: BSD-3-Clause
// Predicts the measured times and fits from each first guess. Any thread.
#include "exchange_study/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace acp::exchange_study {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr unsigned rounds_of_a_guess = 8;
constexpr double guess_factors[] = {1, 0.5, 2};
constexpr double guess_gain = 0.001;  // the least gain by which a guess replaces an earlier one

exchange::NetworkModel model_with(const exchange::NetworkModel& first, const RateVector& rates) {
    exchange::NetworkModel model = first;
    model.node = with_rates(first.node, rates);
    for (exchange::ModelLink& link : model.links) link.rate *= rates[fitted_links];
    return model;
}

Result<double> predicted_us(const exchange::NetworkModel& model,
                            double link_factor,
                            const MeasuredExchange& exchange) {
    if (exchange.problem) {
        return exchange_us(exchange.problem->with_rates(model.node, link_factor), exchange.queues);
    }
    auto times = FluidSimulation(model).run(exchange.copies);
    if (!times.is_ok()) return std::move(times).failure();
    return times.value().total_us;
}

Status check_measured(const exchange::NetworkModel& first,
                      std::span<const MeasuredExchange> measured) {
    if (measured.empty()) return {Code::argument, "nothing was measured"};
    for (const MeasuredExchange& exchange : measured) {
        const bool are_times =
            !exchange.seen_us.empty() &&
            std::all_of(exchange.seen_us.begin(), exchange.seen_us.end(),
                        [](double time) { return time > 0 && time <= exchange::cost_us_max; });
        if (!are_times)
            return {Code::argument, exchange.name + " has no time, or one that is none"};
        auto predicted = predicted_us(first, 1, exchange);
        if (!predicted.is_ok()) return std::move(predicted).failure().within(exchange.name);
        if (!(predicted.value() > 0)) return {Code::argument, exchange.name + " takes no time"};
    }
    return {};
}

// The best of fits that begin with engines, links and nodes of half, the same, or twice the rate.
RateFit best_fit(const RateVector& first,
                 std::span<const double> seen_us,
                 const PredictTimes& predict,
                 FitOptions options) {
    const FitOptions all = options;
    options.rounds = rounds_of_a_guess;
    options.is_robust = false;
    RateFit best;
    best.error = 1e300;
    for (const double engines : guess_factors) {
        for (const double links : guess_factors) {
            for (const double nodes : guess_factors) {
                RateVector guess = first;
                guess[fitted_engine_rate] *= engines;
                guess[fitted_links] *= links;
                guess[fitted_injection_rate] *= nodes;
                guess[fitted_reception_rate] *= nodes;
                const RateFit fit = fit_rates(guess, seen_us, predict, options);
                if (fit.error < best.error - guess_gain) best = fit;
            }
        }
    }
    return fit_rates(best.rates, seen_us, predict, all);
}

}  // namespace

Result<Calibration> calibrate(const exchange::NetworkModel& first,
                              std::span<const MeasuredExchange> measured) {
    Status status = exchange::check(first);
    if (status.is_ok()) status = check_measured(first, measured);
    if (!status.is_ok()) return status;
    std::vector<double> seen_us;
    FitOptions options;
    options.is_reception_tied = true;
    for (const MeasuredExchange& exchange : measured) {
        seen_us.insert(seen_us.end(), exchange.seen_us.begin(), exchange.seen_us.end());
        if (!exchange.problem) options.is_reception_tied = false;
    }
    const auto predict = [&](const RateVector& rates, std::span<double> predicted) {
        const exchange::NetworkModel model = model_with(first, rates);
        std::size_t next = 0;
        for (const MeasuredExchange& exchange : measured) {
            const double time = predicted_us(model, rates[fitted_links], exchange).value();
            for (std::size_t i = 0; i < exchange.seen_us.size(); ++i) predicted[next++] = time;
        }
    };
    RateVector rates = rates_of(first.node);
    if (options.is_reception_tied) rates[fitted_reception_rate] = rates[fitted_injection_rate];
    const RateFit fit = best_fit(rates, seen_us, predict, options);
    Calibration made;
    made.model = model_with(first, fit.rates);
    made.error = fit.error;
    made.is_determined = fit.is_determined;
    if (options.is_reception_tied)
        made.is_determined[fitted_reception_rate] = fit.is_determined[fitted_injection_rate];
    for (const MeasuredExchange& exchange : measured) {
        made.predicted_us.push_back(
            predicted_us(made.model, fit.rates[fitted_links], exchange).value());
    }
    status = exchange::check(made.model);
    if (!status.is_ok()) return std::move(status).within("the fitted network");
    return made;
}

}  // namespace acp::exchange_study
