// SPDX-License-Identifier: BSD-3-Clause
// Fits the rates and costs of a network to measured times: least squares of relative errors, with
// less weight for outliers, by Levenberg and Marquardt's method on the logarithms of the numbers.
// Knows no exchange: the caller predicts the times. A number on which no time depends is unchanged.
// Pure; any thread.
// Source: K. Madsen, H. B. Nielsen, O. Tingleff, Methods for non-linear least squares problems; P.
// J. Huber, Robust statistics. Tests: tests/unit/exchange_study/rate_fit_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "exchange/network_model.hpp"

namespace acp::exchange_study {

enum FittedRate : std::size_t {
    fitted_start_us,
    fitted_command_us,
    fitted_engine_rate,
    fitted_links,  // a factor of the rates of all links
    fitted_injection_rate,
    fitted_reception_rate,
    fitted_rates
};

inline constexpr std::array<std::string_view, fitted_rates> fitted_rate_names = {
    "start_us", "command_us", "engine_rate", "links", "injection_rate", "reception_rate"};

using RateVector = std::array<double, fitted_rates>;

// rates_of: the numbers of a model, with 1 as the factor of its links. with_rates: the reverse; the
// caller applies the factor of the links.
[[nodiscard]] RateVector rates_of(const exchange::NodeRates& node) noexcept;
[[nodiscard]] exchange::NodeRates with_rates(const exchange::NodeRates& node,
                                             const RateVector& rates) noexcept;

// Predicts the times for given rates, one for each measured time; all > 0.
using PredictTimes = std::function<void(const RateVector& rates, std::span<double> predicted_us)>;

struct FitOptions {
    unsigned rounds = 40;
    // How much a number weighs that differs from the first one by a factor e, in squared relative
    // errors.
    double pull = 0;
    bool is_robust = true;           // outliers get less weight
    bool is_reception_tied = false;  // reception has the same rate as injection
};

struct RateFit {
    RateVector rates{};
    double error = 0;                                // mean absolute relative error
    std::array<bool, fitted_rates> is_determined{};  // some time depends on the number
};

//   first    numbers of 0 stay 0
//   seen_us  all > 0
[[nodiscard]] RateFit fit_rates(const RateVector& first,
                                std::span<const double> seen_us,
                                const PredictTimes& predict,
                                const FitOptions& options);

}  // namespace acp::exchange_study
