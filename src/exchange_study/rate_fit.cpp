// SPDX-License-Identifier: BSD-3-Clause
// Iterations of damped linear least squares. Any thread.
#include "exchange_study/rate_fit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace acp::exchange_study {

namespace {

constexpr double slope_distance = 0.01;  // step in a number's logarithm for a numerical slope
constexpr double fit_step_max = 0.5;     // the longest step in a logarithm per round
constexpr double damping_first = 1e-3;
constexpr double damping_min = 1e-9;
constexpr double damping_max = 1e6;
constexpr double fit_gain_min = 1e-8;  // a round that lowers the cost by less ends the fit
// root of the mean square; below it no time depends on the number
constexpr double slope_min = 1e-3;
constexpr double usual_errors = 1.5;  // errors beyond this many usual ones get less weight

using Matrix = std::array<RateVector, fitted_rates>;

// Solves the system of a positive definite matrix, in place.
RateVector solved(Matrix matrix, RateVector right) {
    for (std::size_t i = 0; i < fitted_rates; ++i) {
        for (std::size_t row = i + 1; row < fitted_rates; ++row) {
            const double factor = matrix[row][i] / matrix[i][i];
            for (std::size_t k = i; k < fitted_rates; ++k) matrix[row][k] -= factor * matrix[i][k];
            right[row] -= factor * right[i];
        }
    }
    for (std::size_t i = fitted_rates; i-- > 0;) {
        for (std::size_t k = i + 1; k < fitted_rates; ++k) right[i] -= matrix[i][k] * right[k];
        right[i] /= matrix[i][i];
    }
    return right;
}

class Fit {
public:
    Fit(const RateVector& first,
        std::span<const double> seen_us,
        const PredictTimes& predict,
        const FitOptions& options)
        : first_(first),
          seen_us_(seen_us),
          predict_(predict),
          options_(options),
          predicted_(seen_us.size()),
          errors_(seen_us.size()),
          weights_(seen_us.size(), 1.0),
          slopes_(seen_us.size()) {}

    RateFit run() {
        RateVector now = first_;
        double cost = weigh(now);
        double damping = damping_first;
        for (unsigned round = 0; round < options_.rounds; ++round) {
            find_slopes(now);
            double next_cost = cost;
            RateVector next = now;
            for (; damping < damping_max; damping *= 8) {
                next = stepped(now, damping);
                next_cost = cost_of(next);
                if (next_cost < cost) break;
            }
            if (next_cost >= cost) break;
            const bool is_end = cost - next_cost < fit_gain_min * cost;
            now = next;
            cost = weigh(now);
            damping = std::max(damping / 20, damping_min);
            if (is_end) break;
        }
        find_slopes(now);
        RateFit result;
        result.rates = now;
        const auto count = static_cast<double>(errors_.size());
        for (const double error : errors_) result.error += std::abs(error) / count;
        for (std::size_t i = 0; i < fitted_rates; ++i)
            result.is_determined[i] = normal_[i][i] > slope_min * slope_min * count;
        return result;
    }

private:
    [[nodiscard]] bool is_fixed(std::size_t i) const {
        return first_[i] <= 0 || (i == fitted_reception_rate && options_.is_reception_tied);
    }

    void predict(const RateVector& rates, std::span<double> logarithms) const {
        predict_(rates, logarithms);
        for (double& value : logarithms) value = std::log(value);
    }

    // Computes the errors of rates; returns their cost with the current weights.
    double cost_of(const RateVector& rates) {
        predict(rates, predicted_);
        double cost = 0;
        for (std::size_t k = 0; k < errors_.size(); ++k) {
            errors_[k] = std::log(seen_us_[k]) - predicted_[k];
            cost += weights_[k] * errors_[k] * errors_[k];
        }
        for (std::size_t i = 0; i < fitted_rates; ++i) {
            if (is_fixed(i)) continue;
            const double away = std::log(rates[i] / first_[i]);
            cost += options_.pull * away * away;
        }
        return cost;
    }

    // Reduces the weights of large errors. Returns the cost with the new weights.
    double weigh(const RateVector& rates) {
        const double cost = cost_of(rates);
        if (!options_.is_robust) return cost;
        std::vector<double> sizes;
        for (const double error : errors_) sizes.push_back(std::abs(error));
        const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
        std::nth_element(sizes.begin(), middle, sizes.end());
        const double limit = usual_errors * 1.4826 * *middle + 1e-9;
        for (std::size_t k = 0; k < errors_.size(); ++k)
            weights_[k] = std::min(1.0, limit / std::max(std::abs(errors_[k]), 1e-12));
        return cost_of(rates);
    }

    [[nodiscard]] RateVector moved(RateVector rates, std::size_t i, double by) const {
        rates[i] *= std::exp(by);
        if (options_.is_reception_tied) rates[fitted_reception_rate] = rates[fitted_injection_rate];
        return rates;
    }

    // Builds the normal equations at these rates.
    void find_slopes(const RateVector& now) {
        (void)cost_of(now);
        std::vector<double> above(errors_.size());
        std::vector<double> below(errors_.size());
        for (std::size_t i = 0; i < fitted_rates; ++i) {
            for (auto& slope : slopes_) slope[i] = 0;
            if (is_fixed(i)) continue;
            predict(moved(now, i, slope_distance), above);
            predict(moved(now, i, -slope_distance), below);
            for (std::size_t k = 0; k < errors_.size(); ++k)
                slopes_[k][i] = (above[k] - below[k]) / (2 * slope_distance);
        }
        normal_ = {};
        right_ = {};
        for (std::size_t k = 0; k < errors_.size(); ++k) {
            for (std::size_t i = 0; i < fitted_rates; ++i) {
                right_[i] += weights_[k] * slopes_[k][i] * errors_[k];
                for (std::size_t j = 0; j < fitted_rates; ++j)
                    normal_[i][j] += weights_[k] * slopes_[k][i] * slopes_[k][j];
            }
        }
    }

    [[nodiscard]] RateVector stepped(const RateVector& now, double damping) const {
        Matrix matrix = normal_;
        RateVector right = right_;
        for (std::size_t i = 0; i < fitted_rates; ++i) {
            const double pull = is_fixed(i) ? 0 : options_.pull;
            if (pull > 0) right[i] -= pull * std::log(now[i] / first_[i]);
            matrix[i][i] += pull + damping * (matrix[i][i] + slope_min) + 1e-12;
        }
        const RateVector step = solved(matrix, right);
        RateVector next = now;
        for (std::size_t i = 0; i < fitted_rates; ++i) {
            if (!is_fixed(i))
                next = moved(next, i, std::clamp(step[i], -fit_step_max, fit_step_max));
        }
        return next;
    }

    const RateVector first_;
    std::span<const double> seen_us_;
    const PredictTimes& predict_;
    const FitOptions& options_;
    std::vector<double> predicted_;  // logarithms
    std::vector<double> errors_;
    std::vector<double> weights_;
    std::vector<RateVector> slopes_;
    Matrix normal_{};
    RateVector right_{};
};

}  // namespace

RateVector rates_of(const exchange::NodeRates& node) noexcept {
    return {node.start_us,       node.command_us,    node.engine_rate, 1,
            node.injection_rate, node.reception_rate};
}

exchange::NodeRates with_rates(const exchange::NodeRates& node, const RateVector& rates) noexcept {
    exchange::NodeRates other = node;
    other.start_us = rates[fitted_start_us];
    other.command_us = rates[fitted_command_us];
    other.engine_rate = rates[fitted_engine_rate];
    other.injection_rate = rates[fitted_injection_rate];
    other.reception_rate = rates[fitted_reception_rate];
    return other;
}

RateFit fit_rates(const RateVector& first,
                  std::span<const double> seen_us,
                  const PredictTimes& predict,
                  const FitOptions& options) {
    return Fit(first, seen_us, predict, options).run();
}

}  // namespace acp::exchange_study
