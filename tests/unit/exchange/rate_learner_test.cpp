// SPDX-License-Identifier: BSD-3-Clause
// The cost of wrong parameters, and how soon they are corrected: plans are made with parameters up
// to 20 % off, and executed by the simulation of a node with the true ones, whose times are read
// with 3 % noise.
#include "exchange/rate_learner.hpp"

#include <cmath>
#include <cstdio>
#include <gtest/gtest.h>

#include "exchange/paper_patterns.hpp"

#include "random_problem.hpp"

namespace acp::exchange {
namespace {

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

TEST(RateLearner, numbers_that_are_20_percent_off_cost_at_most_2_percent_on_average) {
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

TEST(RateLearner, five_exchanges_later_the_times_are_predicted_within_3_percent) {
    constexpr int learners = 60;
    constexpr std::size_t exchanges = 21;
    base::Random random(31);
    std::array<double, exchanges> error{}, worst{};
    double loss = 0;
    for (int i = 0; i < learners; ++i) {
        const NodeProblem truth = i % 3 == 0
                                      ? paper_problem(PaperPattern::eight, 872)
                                      : random_problem(random, 2 + static_cast<std::size_t>(i) % 2,
                                                       14 + static_cast<std::size_t>(i % 4) * 6);
        RateLearner learner(distorted(truth, random, 0.2), PlanEffort::standard);
        for (std::size_t k = 0; k < exchanges; ++k) {
            std::array<double, engines_max> ends{};
            const double transfer = transfer_us(truth, learner.queues(), ends);
            const double costs = exchange_us(truth, 0, learner.queues().pieces());
            const double off = std::abs(learner.predicted_us() / (costs + transfer) - 1);
            error[k] += off / learners;
            worst[k] = std::max(worst[k], off);
            if (k + 1 == exchanges)
                loss +=
                    (costs + transfer) / ExchangePlanner().plan(truth, PlanEffort::standard) - 1;
            for (double& end : ends) {
                if (end > 0) end = (costs + end) * uniform(random, 0.03);
            }
            learner.note((costs + transfer) * uniform(random, 0.03), ends);
        }
    }
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{5}, exchanges - 1}) {
        std::printf("after %zu exchanges: off by %.2f %% on average, %.2f %% at most\n", k,
                    100 * error[k], 100 * worst[k]);
    }
    std::printf("loss in the end: %.2f %%\n", 100 * loss / learners);
    EXPECT_GT(error[0], 0.05);
    EXPECT_LE(error[5], 0.03);
    EXPECT_LE(error[exchanges - 1], 0.03);
    EXPECT_LE(loss / learners, 0.02);
}

TEST(RateLearner, plans_anew_when_a_number_has_changed_much) {
    base::Random random(1);
    const NodeProblem problem = random_problem(random, 2, 20);
    NodeRates node = problem.node();
    node.engine_rate /= 2;  // engines become the bottleneck
    const NodeProblem slow = problem.with_rates(node, 1);
    RateLearner learner(problem, PlanEffort::standard);
    for (int i = 0; i < 12; ++i) {
        std::array<double, engines_max> ends{};
        const double transfer = transfer_us(slow, learner.queues(), ends);
        const double costs = exchange_us(slow, 0, learner.queues().pieces());
        for (double& end : ends) end += end > 0 ? costs : 0;
        learner.note(costs + transfer, ends);
    }
    EXPECT_NEAR(learner.predicted_us() / exchange_us(slow, learner.queues()), 1, 0.05);
    EXPECT_LE(exchange_us(slow, learner.queues()),
              1.05 * ExchangePlanner().plan(slow, PlanEffort::standard));
}

TEST(RateLearner, learns_from_the_whole_time_alone_where_engines_are_not_known) {
    const NodeProblem truth = paper_problem(PaperPattern::four, 436);
    NodeRates node = truth.node();
    node.injection_rate = node.reception_rate = 0.8 * node.injection_rate;
    RateLearner learner(truth.with_rates(node, 1), PlanEffort::standard);
    for (int i = 0; i < 20; ++i) learner.note(exchange_us(truth, learner.queues()), {});
    EXPECT_NEAR(learner.predicted_us() / exchange_us(truth, learner.queues()), 1, 0.01);
}

}  // namespace
}  // namespace acp::exchange
