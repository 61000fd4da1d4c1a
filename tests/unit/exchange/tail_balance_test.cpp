// SPDX-License-Identifier: BSD-3-Clause
// Evening out the ends.
#include "exchange/tail_balance.hpp"

#include <gtest/gtest.h>

#include "exchange/round_robin.hpp"

#include "exchange_study/paper_patterns.hpp"
#include "random_problem.hpp"

namespace acp::exchange {
namespace {

TEST(TailBalance, moves_a_piece_to_an_engine_that_has_nothing) {
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::four, 60)
            .with_messages({{40'960, 0}, {40'960, 1}});
    EngineQueues queues;
    round_robin(problem, 1, queues);
    TailBalance balance;
    RateMemo rates(problem);
    const double time = balance.improve(rates, 0, false, queues);
    EXPECT_DOUBLE_EQ(time, exchange_us(problem, queues));
    EXPECT_NEAR(time, 14.6 + 2 * 1.23 + 10, 1e-6);
}

TEST(TailBalance, cuts_a_piece_where_that_is_worth_a_command) {
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::four, 60)
            .with_messages({{409'600, 0}});
    EngineQueues queues;
    round_robin(problem, 1, queues);
    TailBalance balance;
    RateMemo rates(problem);
    const double time = balance.improve(rates, 0, true, queues);
    EXPECT_LT(time, 14.6 + 2 * 1.23 + 409'600 / 5067.0 + 2);
    EXPECT_GE(queues.pieces(), 2U);
    const NodeProblem small = problem.with_messages({{4096, 0}});
    round_robin(small, 1, queues);
    RateMemo small_rates(small);
    balance.improve(small_rates, 0, true, queues);
    EXPECT_EQ(queues.pieces(), 1U);
}

TEST(TailBalance, never_makes_a_plan_worse_and_stops_when_it_is_good_enough) {
    base::Random random(12);
    TailBalance balance;
    for (std::size_t round = 0; round < 200; ++round) {
        const NodeProblem problem = random_problem(random, 2, 1 + random.below(20));
        EngineQueues queues;
        round_robin(problem, 4, queues);
        const double before = exchange_us(problem, queues);
        EngineQueues untouched = queues;
        RateMemo rates(problem);
        EXPECT_DOUBLE_EQ(balance.improve(rates, before, true, untouched), before);
        const double after = balance.improve(rates, 0, round % 2 == 0, queues);
        EXPECT_LE(after, before + 1e-9);
        EXPECT_NEAR(after, exchange_us(problem, queues), 1e-9);
        double bytes = 0;
        for (const auto& queue : queues.of) {
            for (const QueuedPiece& piece : queue) bytes += piece.bytes;
        }
        for (const ProblemMessage& message : problem.messages()) bytes -= message.bytes;
        EXPECT_EQ(bytes, 0);
    }
}

}  // namespace
}  // namespace acp::exchange
