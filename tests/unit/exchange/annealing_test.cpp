// SPDX-License-Identifier: BSD-3-Clause
// Annealing of schedules.
#include "exchange/annealing.hpp"

#include <gtest/gtest.h>

#include "exchange/exchange_plan.hpp"
#include "exchange/round_robin.hpp"

#include "random_problem.hpp"

namespace acp::exchange {
namespace {

TEST(Annealing, keeps_every_byte_and_is_never_worse) {
    base::Random random(14);
    Annealing annealing;
    double gained = 0;
    for (std::size_t round = 0; round < 30; ++round) {
        const NodeProblem problem = random_problem(random, 2 + round % 2, 1 + random.below(20));
        EngineQueues queues;
        round_robin(problem, 4, queues);
        const double before = exchange_us(problem, queues);
        AnnealingOptions options;
        options.may_split = round % 3 != 0;
        RateMemo rates(problem);
        const double after = annealing.improve(rates, options, queues);
        EXPECT_LE(after, before);
        EXPECT_NEAR(after, exchange_us(problem, queues), 1e-9);
        if (!options.may_split) {
            EXPECT_EQ(queues.pieces(), problem.messages().size());
        }
        // asserts that all bytes are there
        const ExchangePlan plan = plan_of(problem, queues, quick_bounds(problem));
        EXPECT_GE(plan.predicted_us, plan.bounds.split_us - 1e-6);
        gained += before / after - 1;
    }
    EXPECT_GT(gained / 30, 0.05);
}

TEST(Annealing, does_the_same_with_the_same_seed) {
    base::Random random(15);
    const NodeProblem problem = random_problem(random, 2, 14);
    Annealing annealing;
    double times[3];
    for (std::uint64_t i = 0; i < 3; ++i) {
        EngineQueues queues;
        round_robin(problem, 4, queues);
        AnnealingOptions options;
        options.evaluations = 500;
        options.seed = 1 + i / 2;
        RateMemo rates(problem);
        times[i] = annealing.improve(rates, options, queues);
    }
    EXPECT_EQ(times[0], times[1]);
    EXPECT_NE(times[0], times[2]);
}

TEST(Annealing, stops_when_the_plan_is_good_enough) {
    base::Random random(16);
    const NodeProblem problem = random_problem(random, 2, 14);
    EngineQueues queues;
    round_robin(problem, 4, queues);
    const double before = exchange_us(problem, queues);
    AnnealingOptions options;
    options.good_enough = before;
    RateMemo rates(problem);
    EXPECT_EQ(Annealing().improve(rates, options, queues), before);
}

}  // namespace
}  // namespace acp::exchange
