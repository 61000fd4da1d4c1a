// SPDX-License-Identifier: BSD-3-Clause
// The time of one node's queues: by hand, and as the simulator of the whole network has it.
#include "exchange/engine_queues.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "exchange/network_presets.hpp"

#include "exchange_study/fluid.hpp"
#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange {
namespace {

// Every message on a random engine.
EngineQueues scattered(const NodeProblem& problem, base::Random& random) {
    EngineQueues queues;
    for (std::uint32_t i = 0; i < problem.messages().size(); ++i) {
        const ProblemMessage& message = problem.messages()[i];
        queues.of[random.below(problem.engines())].push_back(
            {message.bytes, i, message.route_class});
    }
    return queues;
}

TEST(EngineQueues, send_in_order_and_share_a_link) {
    NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::north_south, 872);
    EngineQueues queues;
    queues.of[0] = {{4096, 0, 0}, {4096, 1, 0}};
    queues.of[1] = {{8192, 2, 0}};
    PieceTimes times;
    std::array<double, engines_max> ends{};
    const double transfer = transfer_us(problem, queues, ends, &times);
    EXPECT_DOUBLE_EQ(transfer, 16'384 / tofu_link_rate);
    EXPECT_DOUBLE_EQ(times.end_us[0][0], 8192 / tofu_link_rate);
    EXPECT_DOUBLE_EQ(times.begin_us[0][1], times.end_us[0][0]);
    EXPECT_DOUBLE_EQ(ends[1], transfer);
    EXPECT_EQ(ends[2], 0);
    EXPECT_DOUBLE_EQ(exchange_us(problem, queues), 14.6 + 3 * 1.23 + transfer);
}

// In step, with the receive engine of the same number as the sending one, all nodes of a torus do
// as one node does.
TEST(EngineQueues, take_as_long_as_on_a_whole_torus) {
    base::Random random(3);
    for (int round = 0; round < 40; ++round) {
        NodeRates node;
        node.stair_us = round % 2;
        const NetworkModel torus = make_torus({5, 4}, tofu_link_rate, node).value();
        std::vector<OffsetMessage> messages;
        while (messages.size() < 9) {
            const auto east = static_cast<std::int32_t>(random.below(3)) - 1;
            const auto north = static_cast<std::int32_t>(random.below(3)) - 1;
            if (east != 0 || north != 0)
                messages.push_back({{east, north}, 1 + random.below(100'000)});
        }
        const NodeProblem problem = NodeProblem::symmetric(torus, messages).value();
        const EngineQueues queues = scattered(problem, random);
        std::vector<exchange_study::FluidQueue> all;
        for (ModelNode here = 0; here < torus.nodes; ++here) {
            for (std::uint32_t e = 0; e < 4; ++e) {
                exchange_study::FluidQueue queue{here, e, 0, {}};
                for (const QueuedPiece& piece : queues.of[e]) {
                    auto place = place_of(torus, here);
                    const auto& offset = messages[piece.message].offset;
                    for (std::size_t i = 0; i < 2; ++i) {
                        const auto ring = static_cast<std::int32_t>(torus.torus[i]);
                        place[i] = static_cast<std::uint32_t>(
                            (static_cast<std::int32_t>(place[i]) + offset[i] + ring) % ring);
                    }
                    queue.commands.push_back({node_at(torus, place), e, piece.bytes});
                }
                all.push_back(queue);
            }
        }
        exchange_study::FluidSimulation simulation(torus);
        const auto times = simulation.run(all).value();
        std::array<double, engines_max> ends{};
        EXPECT_NEAR(times.transfer_us, transfer_us(problem, queues, ends), 1e-6)
            << "round " << round;
        EXPECT_NEAR(times.total_us, exchange_us(problem, queues), 1e-6) << "round " << round;
    }
}

TEST(EngineQueues, begin_one_stair_after_the_other) {
    NodeRates node;
    node.stair_us = 1;
    const NodeProblem problem = exchange_study::paper_problem(
        exchange_study::PaperPattern::east_west, 60, node, tofu_link_rate);
    EngineQueues queues;
    queues.of[2] = {{4096, 0, 0}};
    queues.of[3] = {{4096, 1, 1}};
    std::array<double, engines_max> ends{};
    EXPECT_DOUBLE_EQ(transfer_us(problem, queues, ends), 4);
    EXPECT_DOUBLE_EQ(ends[2], 3);
}

}  // namespace
}  // namespace acp::exchange
