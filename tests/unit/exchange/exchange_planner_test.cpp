// SPDX-License-Identifier: BSD-3-Clause
// The planner: plans are complete and deterministic, improve with more effort, and exist for small,
// large and odd problems.
#include "exchange/exchange_planner.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "exchange_study/paper_patterns.hpp"
#include "random_problem.hpp"

namespace acp::exchange {
namespace {

TEST(ExchangePlanner, makes_whole_plans_with_every_effort) {
    base::Random random(21);
    ExchangePlanner planner;
    for (std::size_t round = 0; round < 60; ++round) {
        NodeRates node;
        node.engines = static_cast<std::uint32_t>(1 + random.below(engines_max));
        node.stair_us = static_cast<double>(round % 2);
        const NodeProblem problem =
            random_problem(random, 2 + round % 2, 1 + random.below(40), node);
        double last = 1e300;
        for (const PlanEffort effort : {PlanEffort::fast, PlanEffort::standard, PlanEffort::deep}) {
            const double time = planner.plan(problem, effort);
            const ExchangePlan plan = planner.made();  // asserts that every byte is in it
            EXPECT_NEAR(plan.predicted_us, time, 1e-3) << "round " << round;
            EXPECT_GE(plan.gap(), -1e-9);
            EXPECT_LE(time, last + 1e-9) << "more effort, no longer plan";
            last = time;
        }
    }
}

TEST(ExchangePlanner, takes_contention_where_it_pays_and_avoids_it_elsewhere) {
    ExchangePlanner planner;
    // Two engines share a link to the north and one to the south: 64 us, where the paper's best
    // plan takes 74.
    EXPECT_NEAR(
        planner.plan(exchange_study::paper_problem(exchange_study::PaperPattern::north_south, 872),
                     PlanEffort::fast),
        63.8, 0.3);
    EXPECT_NEAR(planner.plan(exchange_study::paper_problem(exchange_study::PaperPattern::four, 872),
                             PlanEffort::fast),
                85.9, 0.3);
    // Cuts both messages: 72 us in one piece each.
    EXPECT_LT(
        planner.plan(exchange_study::paper_problem(exchange_study::PaperPattern::east_west, 872),
                     PlanEffort::fast),
        64.5);
}

TEST(ExchangePlanner, does_the_same_each_time) {
    base::Random random(22);
    const NodeProblem problem = random_problem(random, 3, 20);
    ExchangePlanner planner;
    const double fast = planner.plan(problem, PlanEffort::fast);
    EXPECT_EQ(planner.plan(problem, PlanEffort::deep),
              ExchangePlanner().plan(problem, PlanEffort::deep));
    EXPECT_EQ(planner.plan(problem, PlanEffort::fast), fast);
    EXPECT_EQ(planner.made().bounds.configuration_us, 0);
    EXPECT_GT(planner.made(true).bounds.configuration_us, 0);
}

// For every pattern the search is bounded by counted steps, also while it evens out the ends.
TEST(ExchangePlanner, fast_plans_take_no_more_steps_than_so_many_for_each_message) {
    base::Random random(27);
    ExchangePlanner planner;
    for (const std::size_t count : {6U, 14U, 26U, 64U}) {
        std::uint64_t most = 0;
        for (std::size_t round = 0; round < 300; ++round) {
            NodeRates node;
            node.link_loss = round % 4 < 2 ? 0 : 0.02;
            planner.plan(random_problem(random, 2 + round % 2, count, node), PlanEffort::fast);
            most = std::max(most, planner.steps());
        }
        // A quarter more at most: the schedule that was in progress at the bound, and its
        // simulation.
        EXPECT_LE(most, count * fast_steps_per_message * 5 / 4) << count << " messages";
        EXPECT_GE(most, count * fast_steps_per_message) << "some search is ended";
    }
}

TEST(ExchangePlanner, improves_with_more_effort) {
    base::Random random(23);
    ExchangePlanner planner;
    double gained = 0;
    for (std::size_t round = 0; round < 20; ++round) {
        const NodeProblem problem = random_problem(random, 2, 10);
        const double first = planner.plan(problem, PlanEffort::fast);
        double last = first;
        for (int i = 0; i < 3; ++i) {
            const double next = planner.improve(1000);
            EXPECT_LE(next, last);
            EXPECT_EQ(next, planner.exchange());
            last = next;
        }
        EXPECT_GE(last, planner.bound() - 1e-9);
        gained += first / last - 1;
    }
    EXPECT_GT(gained / 20, 0.002);
}

TEST(ExchangePlanner, plans_one_message_and_a_hundred_thousand) {
    ExchangePlanner planner;
    const NodeProblem one = exchange_study::paper_problem(exchange_study::PaperPattern::eight, 60)
                                .with_messages({{1, 0}});
    EXPECT_NEAR(planner.plan(one, PlanEffort::deep), 14.6 + 1.23 + 1 / 4096.0, 1e-6);
    std::vector<ProblemMessage> many;
    for (std::uint32_t i = 0; i < 100'000; ++i)
        many.push_back({64.0 + i % 1000, static_cast<ClassIndex>(i % 8)});
    const NodeProblem large = one.with_messages(many);
    planner.plan(large, PlanEffort::standard);
    EXPECT_LT(planner.made().gap(), 0.02);
}

TEST(ExchangePlanner, cuts_one_huge_message_for_all_engines) {
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::eight, 60)
            .with_messages({{static_cast<double>(std::uint64_t{1} << 40), 2}, {64, 0}});
    ExchangePlanner planner;
    planner.plan(problem, PlanEffort::fast);
    EXPECT_LT(planner.made().gap(), 0.02);
}

}  // namespace
}  // namespace acp::exchange
