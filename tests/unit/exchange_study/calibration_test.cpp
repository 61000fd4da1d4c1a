// SPDX-License-Identifier: BSD-3-Clause
// Fitting a network's parameters to measured exchanges: a simulated network's parameters are
// recovered although times are noisy and the first guess is wrong, and the paper's times for two
// directions each predict those of four directions.
#include "exchange_study/calibration.hpp"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "exchange/network_presets.hpp"

#include "exchange_study/paper_patterns.hpp"
#include "exchange_study/scheduler_table.hpp"

namespace acp::exchange_study {
namespace {

using base::Code;

exchange::NetworkModel tofu_with(const exchange::NodeRates& node, double link_rate) {
    return exchange::make_torus({6, 8}, link_rate, node).value();
}

MeasuredExchange symmetric(const exchange::NetworkModel& torus,
                           PaperPattern pattern,
                           std::uint32_t grid_size,
                           std::string_view scheduler) {
    MeasuredExchange made;
    made.name = std::string(name_of(pattern)) + " " + std::string(scheduler);
    made.problem =
        exchange::NodeProblem::symmetric(torus, paper_messages(pattern, grid_size)).value();
    made.queues = scheduler_named(scheduler)->schedule(*made.problem).phases.front().queues;
    return made;
}

// Several nodes send to one, or one to several: such exchanges distinguish injection from
// reception.
MeasuredExchange star(bool is_inward, double bytes) {
    MeasuredExchange made;
    made.name = is_inward ? "inward" : "outward";
    constexpr exchange::ModelNode center = 14;
    constexpr exchange::ModelNode around[] = {13, 15, 8,
                                              20};  // its neighbours in the torus of 6 x 8
    for (std::uint32_t i = 0; i < 4; ++i) {
        const exchange::ModelNode from = is_inward ? around[i] : center;
        const exchange::ModelNode to = is_inward ? center : around[i];
        made.copies.push_back({from, is_inward ? 0 : i, 0, {{to, any_receive_engine, bytes}}});
    }
    return made;
}

double noise(base::Random& random, double share) {
    // The sum of twelve uniform ones is close to a normal one of variance 1.
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.below(1'000'000)) / 1e6;
    return std::exp(share * sum);
}

// The time of an exchange on a torus with other rates.
double time_on(const exchange::NetworkModel& torus,
               const exchange::NetworkModel& first,
               const MeasuredExchange& exchange) {
    if (!exchange.problem) return FluidSimulation(torus).run(exchange.copies).value().total_us;
    const double links = torus.links.front().rate / first.links.front().rate;
    return exchange_us(exchange.problem->with_rates(torus.node, links), exchange.queues);
}

// All exchanges that the paper measured, a few times each, on a torus for which there is a first
// guess.
std::vector<MeasuredExchange> campaign(const exchange::NetworkModel& torus,
                                       const exchange::NetworkModel& first,
                                       base::Random& random) {
    std::vector<MeasuredExchange> all;
    for (const PaperPattern pattern : paper_patterns) {
        for (const std::uint32_t grid_size : {60U, 218U, 436U, 872U}) {
            for (const char* scheduler : {"RR1", "RR2", "RR4", "BL1", "BL2", "BL4"})
                all.push_back(symmetric(first, pattern, grid_size, scheduler));
        }
    }
    for (const double bytes : {65'536.0, 262'144.0, 1'048'576.0}) {
        all.push_back(star(true, bytes));
        all.push_back(star(false, bytes));
    }
    constexpr int repetitions = 10;
    for (MeasuredExchange& exchange : all) {
        for (int i = 0; i < repetitions; ++i)
            exchange.seen_us.push_back(time_on(torus, first, exchange) * noise(random, 0.05));
    }
    return all;
}

void expect_recovered(const Calibration& made, const exchange::NetworkModel& torus, double within) {
    const RateVector expected = rates_of(torus.node);
    RateVector found = rates_of(made.model.node);
    found[fitted_links] = made.model.links.front().rate / torus.links.front().rate;
    for (std::size_t i = 0; i < fitted_rates; ++i) {
        EXPECT_TRUE(made.is_determined[i]) << fitted_rate_names[i];
        EXPECT_NEAR(found[i] / expected[i], 1, within) << fitted_rate_names[i];
    }
}

TEST(Calibration,
     finds_the_numbers_of_a_network_within_three_percent_from_times_with_five_percent_noise) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        base::Random random(seed);
        exchange::NodeRates node;
        const auto varied = [&random](double value) {
            return value * (0.7 + 0.6 * static_cast<double>(random.below(1000)) / 1000);
        };
        node.start_us = varied(node.start_us);
        node.command_us = varied(node.command_us);
        node.reception_rate = 0.8 * node.injection_rate;
        const exchange::NetworkModel torus = tofu_with(node, exchange::tofu_link_rate);
        exchange::NodeRates guess;
        guess.engine_rate = varied(5000);
        guess.injection_rate = guess.reception_rate = varied(20'000);
        const exchange::NetworkModel first = tofu_with(guess, varied(8000));
        const auto made = calibrate(first, campaign(torus, first, random));
        ASSERT_TRUE(made.is_ok()) << made.failure().message();
        SCOPED_TRACE("seed " + std::to_string(seed));
        expect_recovered(made.value(), torus, 0.03);
        EXPECT_NEAR(made.value().error, 0.04, 0.005);  // the mean size of such noise
    }
}

TEST(Calibration, is_not_misled_by_a_few_times_that_are_far_off) {
    base::Random random(9);
    const exchange::NetworkModel torus = tofu_with({}, exchange::tofu_link_rate);
    auto measured = campaign(torus, torus, random);
    for (MeasuredExchange& exchange : measured) exchange.seen_us[3] *= 4;  // one of ten
    const auto made = calibrate(torus, measured);
    ASSERT_TRUE(made.is_ok());
    expect_recovered(made.value(), torus, 0.05);
}

// Paper 003, its text: N1, N4, N5, N7, N8 and N9, and where its curves begin; with nothing measured
// in more than two directions.
TEST(Calibration, two_directions_each_predict_the_order_of_four_directions) {
    exchange::NodeRates nominal;
    // it is no limit, as far as one knows
    nominal.injection_rate = nominal.reception_rate = 20'000;
    const exchange::NetworkModel torus = tofu_with(nominal, 5000);
    std::vector<MeasuredExchange> measured;
    const auto add = [&](PaperPattern pattern, std::uint32_t grid_size,
                         std::initializer_list<const char*> names, double seen_us) {
        for (const char* name : names) {
            measured.push_back(symmetric(torus, pattern, grid_size, name));
            measured.back().seen_us = {seen_us};
        }
    };
    add(PaperPattern::east_west, 872, {"BL1", "BL2", "BL4", "RR2", "RR4"}, 72);
    add(PaperPattern::east_west, 872, {"RR1"}, 126);
    add(PaperPattern::north_south, 872, {"RR4"}, 64);
    add(PaperPattern::north_south, 872, {"BL1", "BL2", "BL4"}, 74);
    add(PaperPattern::north_south, 872, {"RR2"}, 108);
    add(PaperPattern::north_south, 872, {"RR1"}, 130);
    const auto made = calibrate(torus, measured);
    ASSERT_TRUE(made.is_ok());
    EXPECT_FALSE(
        made.value().is_determined[fitted_injection_rate]);  // two directions do not fill it
    const auto predicted = [&](PaperPattern pattern, const char* name) {
        return time_on(made.value().model, torus, symmetric(torus, pattern, 872, name));
    };
    const double best = predicted(PaperPattern::four, "BL4");
    EXPECT_LT(best, predicted(PaperPattern::four, "RR4"));
    EXPECT_LT(predicted(PaperPattern::four, "RR4"), predicted(PaperPattern::four, "RR2"));
    EXPECT_LT(predicted(PaperPattern::four, "RR2"), predicted(PaperPattern::four, "RR1"));
    EXPECT_LT(best, predicted(PaperPattern::north_south, "RR2"));  // N12
}

TEST(Calibration, leaves_what_nothing_depends_on_as_it_is) {
    const exchange::NetworkModel torus = tofu_with({}, exchange::tofu_link_rate);
    MeasuredExchange one = symmetric(torus, PaperPattern::east_west, 872, "RR1");
    one.seen_us = {100};
    const auto made = calibrate(torus, std::vector{one});
    ASSERT_TRUE(made.is_ok());
    EXPECT_NEAR(made.value().predicted_us[0], 100, 0.1);
    EXPECT_EQ(made.value().model.links.front().rate, exchange::tofu_link_rate);
    EXPECT_FALSE(made.value().is_determined[fitted_links]);
    EXPECT_TRUE(made.value().is_determined[fitted_engine_rate]);
}

TEST(Calibration, refuses_what_was_not_measured) {
    const exchange::NetworkModel torus = tofu_with({}, exchange::tofu_link_rate);
    EXPECT_EQ(calibrate(torus, {}).failure().code(), Code::argument);
    MeasuredExchange one = symmetric(torus, PaperPattern::four, 60, "BL4");
    EXPECT_EQ(calibrate(torus, std::vector{one}).failure().code(), Code::argument);
    one.seen_us = {50, 0};
    EXPECT_EQ(calibrate(torus, std::vector{one}).failure().code(), Code::argument);
    MeasuredExchange far = star(true, 8);
    far.seen_us = {10};
    far.copies.front().node = 48;
    EXPECT_EQ(calibrate(torus, std::vector{far}).failure().code(), Code::argument);
}

}  // namespace
}  // namespace acp::exchange_study
