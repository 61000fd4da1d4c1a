// SPDX-License-Identifier: BSD-3-Clause
// How good the planner's plans are: on all 55 exchanges of paper 003, on 1000 random patterns of up
// to 64 messages in two and three dimensions, with short messages where each further engine begins
// late, and with parameters of the network that are 20 % off. Compared with the bound of the
// configuration program and with every other scheduler.
#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>

#include "exchange/bottom_left.hpp"
#include "exchange/exchange_planner.hpp"
#include "exchange/round_robin.hpp"

#include "exchange_study/paper_patterns.hpp"
#include "random_problem.hpp"

namespace acp::exchange {
namespace {

// The best of RoundRobin(1, 2, 4) and BLbased(1, 2, 4), plain, hop-aware and with stairs.
double best_of_others(const NodeProblem& problem) {
    double best = 1e300;
    EngineQueues queues;
    BottomLeft packer;
    for (const unsigned count : {1U, 2U, 4U}) {
        round_robin(problem, count, queues);
        best = std::min(best, exchange_us(problem, queues));
        for (const bool is_hop_aware : {false, true}) {
            for (const bool has_stairs : {false, true}) {
                const double rate = has_stairs ? problem.node().engine_rate : paper_link_rate;
                packer.pack(problem, {count, is_hop_aware, has_stairs, rate}, queues);
                best = std::min(best, exchange_us(problem, queues));
            }
        }
    }
    return best;
}

struct Gaps {
    std::vector<double> all;

    void add(double gap) { all.push_back(gap); }

    [[nodiscard]] double mean() const {
        double sum = 0;
        for (const double gap : all) sum += gap;
        return sum / static_cast<double>(all.size());
    }

    [[nodiscard]] double at(double share) {
        std::sort(all.begin(), all.end());
        return all[std::min(all.size() - 1,
                            static_cast<std::size_t>(share * static_cast<double>(all.size())))];
    }
};

TEST(PlannerQuality, is_within_one_percent_of_the_bound_on_the_exchanges_of_the_paper) {
    ExchangePlanner planner;
    for (const exchange_study::PaperPattern pattern : exchange_study::paper_patterns) {
        for (const std::uint32_t grid_size : exchange_study::paper_grid_sizes) {
            const NodeProblem problem = exchange_study::paper_problem(pattern, grid_size);
            const double bound = all_bounds(problem).most_us();
            for (const PlanEffort effort : {PlanEffort::fast, PlanEffort::standard}) {
                const double time = planner.plan(problem, effort);
                EXPECT_LE(time, 1.01 * bound) << name_of(pattern) << " " << grid_size;
                EXPECT_GE(time, bound - 1e-6) << name_of(pattern) << " " << grid_size;
                EXPECT_LE(time, best_of_others(problem) + 1e-9)
                    << name_of(pattern) << " " << grid_size;
            }
        }
    }
}

TEST(PlannerQuality,
     is_close_to_the_bound_on_a_thousand_random_patterns_and_never_worse_than_others) {
    constexpr std::size_t counts[] = {6, 10, 14, 20, 26, 30, 50, 64};
    constexpr std::size_t rounds = 125;
    base::Random random(7);
    ExchangePlanner planner;
    Gaps fast, standard, deep;
    for (std::size_t round = 0; round < rounds; ++round) {
        for (const std::size_t count : counts) {
            const NodeProblem problem = random_problem(random, 2 + round % 2, count);
            const double bound = all_bounds(problem).most_us();
            const double others = best_of_others(problem);
            fast.add(planner.plan(problem, PlanEffort::fast) / bound - 1);
            for (Gaps* gaps : {&standard, &deep}) {
                const double time =
                    planner.plan(problem, gaps == &deep ? PlanEffort::deep : PlanEffort::standard);
                gaps->add(time / bound - 1);
                ASSERT_GE(time, bound - 1e-6) << "round " << round << ", " << count << " messages";
                ASSERT_LE(time, others + 1e-9) << "round " << round << ", " << count << " messages";
            }
        }
    }
    for (const auto& [name, gaps] :
         {std::pair{"fast", &fast}, {"standard", &standard}, {"deep", &deep}}) {
        std::printf(
            "%-8s over the bound: mean %.2f %%, 99 of 100 within %.2f %%, at most %.2f %%\n", name,
            100 * gaps->mean(), 100 * gaps->at(0.99), 100 * gaps->at(1));
    }
    EXPECT_LE(fast.mean(), 0.015);
    EXPECT_LE(standard.mean(), 0.01);
    EXPECT_LE(standard.at(0.99), 0.05);
    EXPECT_LE(standard.at(1), 0.07);
    EXPECT_LE(deep.mean(), 0.008);
    EXPECT_LE(deep.at(1), 0.06);
}

// Paper 003, figures 13 and 14: for short messages the number of engines matters; a plan is no
// longer than with any fixed number.
TEST(PlannerQuality, is_no_worse_than_any_number_of_engines_where_each_begins_late) {
    ExchangePlanner planner;
    for (const double stair : {0.3, 1.0, 2.0}) {
        NodeRates node;
        node.stair_us = stair;
        for (const exchange_study::PaperPattern pattern : exchange_study::paper_patterns) {
            for (const std::uint32_t grid_size : exchange_study::paper_grid_sizes) {
                const NodeProblem problem =
                    exchange_study::paper_problem(pattern, grid_size, node, tofu_link_rate);
                const double time = planner.plan(problem, PlanEffort::standard);
                EXPECT_LE(time, best_of_others(problem) + 1e-9);
                for (unsigned engines = 1; engines <= 4; ++engines) {
                    EngineQueues queues;
                    round_robin(problem, engines, queues);
                    EXPECT_LE(time, exchange_us(problem, queues) + 1e-9) << engines;
                }
            }
        }
    }
}

double uniform(base::Random& random, double share) {
    return 1 + share * (2 * static_cast<double>(random.below(1'000'001)) / 1e6 - 1);
}

// The problem with all of its parameters wrong by up to `share`.
NodeProblem distorted(const NodeProblem& problem, base::Random& random, double share) {
    NodeRates node = problem.node();
    node.engine_rate *= uniform(random, share);
    node.injection_rate *= uniform(random, share);
    node.reception_rate = node.injection_rate;
    node.command_us *= uniform(random, share);
    node.start_us *= uniform(random, share);
    return problem.with_rates(node, uniform(random, share));
}

TEST(PlannerQuality, numbers_that_are_20_percent_off_cost_at_most_2_percent_on_average) {
    base::Random random(21);
    ExchangePlanner planner;
    double sum = 0, most = 0;
    int count = 0;
    for (const std::size_t dimensions : {2U, 3U}) {
        for (const std::size_t messages : {6U, 14U, 26U, 50U}) {
            for (int i = 0; i < 25; ++i) {
                const NodeProblem truth = random_problem(random, dimensions, messages);
                const double best = planner.plan(truth, PlanEffort::standard);
                const NodeProblem wrong = distorted(truth, random, 0.2);
                planner.plan(wrong, PlanEffort::standard);
                const double loss = exchange_us(truth, planner.queues()) / best - 1;
                sum += loss;
                most = std::max(most, loss);
                ++count;
            }
        }
    }
    std::printf("loss with numbers 20 %% off: mean %.2f %%, at most %.2f %%\n", 100 * sum / count,
                100 * most);
    EXPECT_LE(sum / count, 0.02);
}

}  // namespace
}  // namespace acp::exchange
