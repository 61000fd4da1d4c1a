// SPDX-License-Identifier: BSD-3-Clause
// A plan as it is kept.
#include "exchange/exchange_plan.hpp"

#include <gtest/gtest.h>

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange {
namespace {

TEST(ExchangePlan, gives_pieces_their_places_in_the_messages) {
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::east_west, 60);
    EngineQueues queues;
    queues.of[0] = {{10'000, 0, 0}};
    queues.of[2] = {{16'384, 1, 1}, {6'384, 0, 0}};
    const ExchangePlan plan = plan_of(problem, queues, all_bounds(problem));
    ASSERT_EQ(plan.engines.size(), 4U);
    ASSERT_EQ(plan.engines[2].size(), 2U);
    EXPECT_TRUE(plan.engines[1].empty());
    EXPECT_EQ(plan.engines[0][0].offset_bytes, 0U);
    EXPECT_EQ(plan.engines[0][0].bytes, 10'000U);
    EXPECT_EQ(plan.engines[2][1].message, 0U);
    EXPECT_EQ(plan.engines[2][1].offset_bytes, 10'000U);
    EXPECT_EQ(plan.engines[2][1].bytes, 6'384U);
    EXPECT_EQ(plan.engines[2][1].receive_engine, 2U);
    EXPECT_DOUBLE_EQ(plan.predicted_us, exchange_us(problem, queues));
    EXPECT_GT(plan.gap(), 0);
}

TEST(ExchangePlanDeathTest, is_of_all_bytes) {
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::east_west, 60);
    EngineQueues queues;
    queues.of[0] = {{16'384, 0, 0}, {16'383, 1, 1}};
    EXPECT_DEATH((void)plan_of(problem, queues, {}), "broken invariant");
}

}  // namespace
}  // namespace acp::exchange
