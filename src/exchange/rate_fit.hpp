// SPDX-License-Identifier: BSD-3-Clause
// Finds the rates and costs of a network from times that were measured: least squares of the relative errors, in which times that are far
// off count less, by Levenberg and Marquardt's method on the logarithms of the numbers. Knows nothing of what was measured: whoever calls
// it predicts. A number that no time depends on stays as it is. Pure; any thread.
// Source: K. Madsen, H. B. Nielsen, O. Tingleff, Methods for non-linear least squares problems; P. J. Huber, Robust statistics.
// Tests: tests/unit/exchange/rate_fit_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "exchange/network_model.hpp"

namespace acp::exchange {

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

// Those of a model, whose links have their rates times 1; and back, where the links of the result are for the caller to set.
[[nodiscard]] RateVector rates_of(const NodeRates& node) noexcept;
[[nodiscard]] NodeRates with_rates(const NodeRates& node, const RateVector& rates) noexcept;

// The times that rates come to, one for each that was seen; all > 0.
using PredictTimes = std::function<void(const RateVector& rates, std::span<double> predicted_us)>;

struct FitOptions {
    unsigned rounds = 40;
    double pull =
        0;  // how much a number that is e times the first one weighs, in squared relative errors
    bool is_robust = true;           // times that are far off count less
    bool is_reception_tied = false;  // reception is as fast as injection
};

struct RateFit {
    RateVector rates{};
    double error = 0;                                // the mean of the relative errors' sizes
    std::array<bool, fitted_rates> is_determined{};  // some time depends on it
};

//   first    numbers of 0 stay 0
//   seen_us  all > 0
[[nodiscard]] RateFit fit_rates(const RateVector& first,
                                std::span<const double> seen_us,
                                const PredictTimes& predict,
                                const FitOptions& options);

}  // namespace acp::exchange
