// SPDX-License-Identifier: BSD-3-Clause
// The list scheduler: it sends every byte once, predicts its time, and leaves no engine idle while
// a message waits.
#include "exchange/greedy_scheduler.hpp"

#include <gtest/gtest.h>

#include "exchange_study/paper_patterns.hpp"
#include "random_problem.hpp"

namespace acp::exchange {
namespace {

std::vector<QueuedPiece> pieces_of(const NodeProblem& problem) {
    std::vector<QueuedPiece> pieces;
    for (std::uint32_t i = 0; i < problem.messages().size(); ++i)
        pieces.push_back({problem.messages()[i].bytes, i, problem.messages()[i].route_class});
    return pieces;
}

std::vector<double> bytes_by_message(const NodeProblem& problem, const EngineQueues& queues) {
    std::vector<double> bytes(problem.messages().size());
    for (const auto& queue : queues.of) {
        for (const QueuedPiece& piece : queue) {
            EXPECT_GT(piece.bytes, 0);
            EXPECT_EQ(piece.route_class, problem.messages()[piece.message].route_class);
            bytes[piece.message] += piece.bytes;
        }
    }
    return bytes;
}

TEST(GreedyScheduler, sends_every_byte_once_in_the_time_that_the_simulation_has) {
    base::Random random(6);
    GreedyScheduler greedy;
    for (std::size_t round = 0; round < 200; ++round) {
        NodeRates node;
        node.engines = static_cast<std::uint32_t>(1 + random.below(engines_max));
        node.stair_us = static_cast<double>(round % 3);
        const NodeProblem problem =
            random_problem(random, 2 + round % 2, 1 + random.below(40), node);
        const auto pieces = pieces_of(problem);
        RateMemo rates(problem);
        greedy.prepare(rates, pieces);
        const bool may_split = random.below(2) == 0;
        EngineQueues queues;
        const double transfer = greedy.run({}, may_split, queues);
        const auto bytes = bytes_by_message(problem, queues);
        for (std::size_t i = 0; i < bytes.size(); ++i)
            EXPECT_EQ(bytes[i], problem.messages()[i].bytes);
        if (!may_split) {
            EXPECT_EQ(queues.pieces(), pieces.size());
        }
        std::array<double, engines_max> ends{};
        EXPECT_NEAR(transfer_us(problem, queues, ends), transfer, 1e-3) << "round " << round;
    }
}

TEST(GreedyScheduler, lets_two_engines_fill_one_link_where_one_cannot) {
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::north_south, 872);
    GreedyScheduler greedy;
    RateMemo rates(problem);
    greedy.prepare(rates, pieces_of(problem));
    EngineQueues queues;
    EXPECT_NEAR(greedy.run({}, false, queues), 2 * 112'128 / 5067.0, 1e-6);
}

TEST(GreedyScheduler, takes_part_of_a_long_message_over) {
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::east_west, 872);
    GreedyScheduler greedy;
    RateMemo rates(problem);
    greedy.prepare(rates, pieces_of(problem));
    EngineQueues whole, cut;
    const double uncut = greedy.run({}, false, whole);
    const double split = greedy.run({}, true, cut);
    EXPECT_EQ(cut.pieces(), 4U);
    EXPECT_NEAR(uncut, 224'256 / 4096.0, 1e-6);
    EXPECT_NEAR(split, 224'256 / 5067.0, 0.1);
}

TEST(GreedyScheduler, sends_favoured_classes_earlier) {
    base::Random random(8);
    int changed = 0;
    for (std::size_t round = 0; round < 50; ++round) {
        const NodeProblem problem = random_problem(random, 2, 14);
        GreedyScheduler greedy;
        RateMemo rates(problem);
        greedy.prepare(rates, pieces_of(problem));
        EngineQueues queues;
        const double first = greedy.run({}, false, queues);
        double best = first;
        for (int i = 0; i < 8; ++i) {
            greedy.favour_late_classes(0.3F);
            best = std::min(best, greedy.run({}, false, queues));
        }
        changed += best < first - 1e-6 ? 1 : 0;
    }
    EXPECT_GT(changed, 10);
}

}  // namespace
}  // namespace acp::exchange
