// SPDX-License-Identifier: BSD-3-Clause
// RoundRobin.
#include "exchange/round_robin.hpp"

#include <gtest/gtest.h>

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange {
namespace {

TEST(RoundRobin, gives_message_i_to_engine_i_modulo_their_number) {
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::eight, 60);
    for (const unsigned engines : {1U, 2U, 3U, 4U}) {
        EngineQueues queues;
        round_robin(problem, engines, queues);
        EXPECT_EQ(queues.pieces(), 14U);
        for (unsigned e = 0; e < engines_max; ++e) {
            std::uint32_t expected = e;
            for (const QueuedPiece& piece : queues.of[e]) {
                EXPECT_EQ(piece.message, expected);
                EXPECT_EQ(piece.bytes, problem.messages()[expected].bytes);
                expected += engines;
            }
        }
    }
}

TEST(RoundRobin, uses_no_more_engines_than_there_are) {
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::eight, 60);
    EngineQueues queues;
    round_robin(problem, 8, queues);
    EXPECT_EQ(queues.of[3].size(), 3U);
    EXPECT_TRUE(queues.of[4].empty());
}

}  // namespace
}  // namespace acp::exchange
