// SPDX-License-Identifier: BSD-3-Clause
// Bounds by hand and by the numbers of paper 003's patterns.
#include "exchange/lower_bounds.hpp"

#include <gtest/gtest.h>

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange {
namespace {

// The bounds for the longest size, with the fitted rates, and the limiting resource.
TEST(LowerBounds, are_those_of_the_most_loaded_resource) {
    const struct {
        exchange_study::PaperPattern pattern;
        double simple_us;
    } rows[] = {
        {exchange_study::PaperPattern::east_west, 14.6 + 2 * 1.23 + 224'256 / 5067.0},  // a link
        {exchange_study::PaperPattern::north_south,
         14.6 + 4 * 1.23 + 2 * 112'128 / 5067.0},  // a link
        {exchange_study::PaperPattern::four,
         14.6 + 6 * 1.23 + 4 * 224'256 / 14'025.0},  // injection
        {exchange_study::PaperPattern::diagonal, 14.6 + 8 * 1.23 + 4 * 14'016 / 5067.0},  // a link
        {exchange_study::PaperPattern::eight,
         14.6 + 14 * 1.23 + 1'009'152 / 14'025.0},  // injection
    };

    for (const auto& row : rows)
        EXPECT_NEAR(quick_bounds(exchange_study::paper_problem(row.pattern, 872)).simple_us,
                    row.simple_us, 1e-6)
            << name_of(row.pattern);
}

TEST(LowerBounds, know_that_one_engine_is_slower_than_its_link_and_that_cutting_costs) {
    // Both messages cut: two commands more. None: as long as an engine takes.
    const LowerBounds large =
        quick_bounds(exchange_study::paper_problem(exchange_study::PaperPattern::east_west, 872));
    EXPECT_NEAR(large.split_us, 14.6 + 4 * 1.23 + 224'256 / 5067.0, 1e-6);
    const LowerBounds small =
        quick_bounds(exchange_study::paper_problem(exchange_study::PaperPattern::east_west, 60));
    EXPECT_NEAR(small.split_us, 14.6 + 2 * 1.23 + 16'384 / 4096.0, 1e-6);
}

TEST(LowerBounds, are_higher_where_the_loads_cannot_be_evened_out) {
    const LowerBounds bounds =
        all_bounds(exchange_study::paper_problem(exchange_study::PaperPattern::eight, 872));
    EXPECT_NEAR(bounds.simple_us, 103.77, 0.01);
    EXPECT_NEAR(bounds.configuration_us, 104.98, 0.01);
    EXPECT_EQ(bounds.most_us(), bounds.configuration_us);
}

TEST(LowerBounds, count_a_link_as_often_as_a_route_uses_it) {
    const auto torus = make_torus({8}, 1000, {}).value();
    const std::vector<OffsetMessage> messages = {{{3}, 5000}, {{1}, 1000}};
    EXPECT_NEAR(load_bound_us(NodeProblem::symmetric(torus, messages).value()), 16, 1e-9);
}

}  // namespace
}  // namespace acp::exchange
