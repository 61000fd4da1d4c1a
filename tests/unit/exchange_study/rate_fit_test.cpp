// SPDX-License-Identifier: BSD-3-Clause
// Least squares of relative errors: exact times give the exact parameters, few outliers do not
// matter, and parameters without influence, or tied ones, keep their values.
#include "exchange_study/rate_fit.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace acp::exchange_study {
namespace {

// A number of commands and bytes, on an engine and then on a link: start + commands x cost + both
// times.
struct Job {
    double commands;
    double bytes;
};

constexpr Job jobs[] = {{1, 1e3}, {1, 1e5}, {4, 1e4},  {16, 1e5}, {2, 5e5},
                        {8, 2e5}, {3, 3e3}, {12, 8e4}, {5, 4e5},  {1, 1e6}};

void predict(const RateVector& rates, std::span<double> predicted_us) {
    for (std::size_t i = 0; i < predicted_us.size(); ++i) {
        predicted_us[i] = rates[fitted_start_us] + rates[fitted_command_us] * jobs[i].commands +
                          jobs[i].bytes / rates[fitted_engine_rate];
    }
}

std::vector<double> times_of(const RateVector& rates) {
    std::vector<double> times(std::size(jobs));
    predict(rates, times);
    return times;
}

constexpr RateVector truth = {10, 1.5, 4000, 1, 14'000, 12'000};
constexpr RateVector guess = {4, 4, 9000, 1, 14'000, 12'000};

TEST(RateFit, finds_the_numbers_behind_exact_times) {
    const RateFit fit = fit_rates(guess, times_of(truth), predict, {});
    for (std::size_t i = 0; i < fitted_rates; ++i)
        EXPECT_NEAR(fit.rates[i] / truth[i], 1, 1e-4) << fitted_rate_names[i];
    EXPECT_LT(fit.error, 1e-4);
}

TEST(RateFit, reports_and_keeps_a_rate_on_which_no_time_depends) {
    const RateFit fit = fit_rates(guess, times_of(truth), predict, {});
    EXPECT_TRUE(fit.is_determined[fitted_start_us]);
    EXPECT_TRUE(fit.is_determined[fitted_engine_rate]);
    EXPECT_FALSE(fit.is_determined[fitted_links]);
    EXPECT_FALSE(fit.is_determined[fitted_reception_rate]);
    EXPECT_EQ(fit.rates[fitted_links], guess[fitted_links]);
}

TEST(RateFit, gives_times_that_are_far_off_little_weight) {
    auto times = times_of(truth);
    times[4] *= 10;
    FitOptions options;
    options.is_robust = false;
    const double misled = fit_rates(guess, times, predict, options).rates[fitted_engine_rate];
    const double found = fit_rates(guess, times, predict, {}).rates[fitted_engine_rate];
    EXPECT_NEAR(found / truth[fitted_engine_rate], 1, 0.02);
    EXPECT_GT(std::abs(misled / truth[fitted_engine_rate] - 1), 0.1);
}

TEST(RateFit, keeps_a_number_of_0_and_one_that_is_tied) {
    RateVector first = guess;
    first[fitted_command_us] = 0;
    first[fitted_reception_rate] = first[fitted_injection_rate];
    FitOptions options;
    options.is_reception_tied = true;
    const auto tied = [](const RateVector& rates, std::span<double> predicted_us) {
        for (std::size_t i = 0; i < predicted_us.size(); ++i) {
            predicted_us[i] = jobs[i].bytes /
                              std::min(rates[fitted_injection_rate], rates[fitted_reception_rate]);
        }
    };
    std::vector<double> seen(std::size(jobs));
    RateVector slow = first;
    slow[fitted_injection_rate] = slow[fitted_reception_rate] = 7000;
    tied(slow, seen);
    const RateFit fit = fit_rates(first, seen, tied, options);
    EXPECT_EQ(fit.rates[fitted_command_us], 0);
    EXPECT_NEAR(fit.rates[fitted_injection_rate], 7000, 1);
    EXPECT_EQ(fit.rates[fitted_reception_rate], fit.rates[fitted_injection_rate]);
}

TEST(RateFit, is_pulled_to_the_first_numbers) {
    FitOptions options;
    const auto times = times_of(truth);
    options.pull = 1e6;
    const RateFit stays = fit_rates(guess, times, predict, options);
    options.pull = 1e-6;
    const RateFit goes = fit_rates(guess, times, predict, options);
    EXPECT_NEAR(stays.rates[fitted_engine_rate] / guess[fitted_engine_rate], 1, 1e-3);
    EXPECT_NEAR(goes.rates[fitted_engine_rate] / truth[fitted_engine_rate], 1, 1e-2);
}

}  // namespace
}  // namespace acp::exchange_study
