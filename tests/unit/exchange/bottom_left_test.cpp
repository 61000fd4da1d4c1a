// SPDX-License-Identifier: BSD-3-Clause
// BLbased: its constraints hold on random patterns, and each variant has its effect.
#include "exchange/bottom_left.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "exchange/network_presets.hpp"

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange {
namespace {

struct Placed {
    double begin, end;
    ClassIndex route_class;
};

std::vector<Placed> placed_by(const NodeProblem& problem, const BottomLeftRules& rules) {
    BottomLeft packer;
    EngineQueues queues;
    packer.pack(problem, rules, queues);
    EXPECT_EQ(queues.pieces(), problem.messages().size());
    std::vector<Placed> placed;
    for (const auto& queue : queues.of) {
        double engine_end = 0;
        for (const QueuedPiece& piece : queue) {
            const double begin = packer.begin_us()[piece.message];
            EXPECT_GE(begin, engine_end - 1e-9) << "an engine sends one at a time, in order";
            engine_end = begin + piece.bytes / rules.rate;
            placed.push_back({begin, engine_end, piece.route_class});
        }
    }
    return placed;
}

NodeProblem random_problem(base::Random& random) {
    std::vector<OffsetMessage> messages;
    const std::size_t count = 1 + random.below(30);
    while (messages.size() < count) {
        const auto east = static_cast<std::int32_t>(random.below(3)) - 1;
        const auto north = static_cast<std::int32_t>(random.below(3)) - 1;
        if (east != 0 || north != 0)
            messages.push_back({{east, north}, std::uint64_t{1} << (10 + random.below(9))});
    }
    return NodeProblem::symmetric(preset_network("tofu").value(), messages).value();
}

TEST(BottomLeft, keeps_its_constraints) {
    base::Random random(5);
    for (int round = 0; round < 300; ++round) {
        const NodeProblem problem = random_problem(random);
        BottomLeftRules rules;
        rules.diagonals = 1U << random.below(3);
        rules.is_hop_aware = random.below(2) == 0;
        const auto placed = placed_by(problem, rules);
        for (const Placed& one : placed) {
            unsigned diagonals = 0;
            for (const Placed& other : placed) {
                const bool is_running =
                    other.begin <= one.begin + 1e-9 && other.end > one.begin + 1e-9;
                if (!is_running) continue;
                diagonals += problem.classes()[other.route_class].dimensions > 1 ? 1U : 0U;
                if (&one == &other) continue;
                EXPECT_NE(one.route_class, other.route_class) << "one direction at a time";
                if (rules.is_hop_aware) {
                    EXPECT_EQ(problem.classes()[one.route_class].links &
                                  problem.classes()[other.route_class].links,
                              0U);
                }
            }
            EXPECT_LE(diagonals, rules.diagonals) << "round " << round;
        }
    }
}

TEST(BottomLeft, puts_each_message_as_low_as_it_can) {
    // Longest first: 4 messages of one direction stand on each other, the shorter ones beside them.
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::north_south, 60)
            .with_messages({{4000, 0}, {1000, 1}, {3000, 0}, {2000, 1}});
    BottomLeft packer;
    EngineQueues queues;
    packer.pack(problem, {4, false, false, 1000}, queues);
    EXPECT_EQ(packer.begin_us(), (std::vector<double>{0, 2, 4, 0}));
}

// Figure 14 of the paper: with 1 us per further engine, diagonals of 1 KiB, packed at an engine's
// rate.
TEST(BottomLeft, uses_fewer_engines_for_short_messages_where_each_begins_a_stair_later) {
    NodeRates node;
    node.stair_us = 1;
    const NodeProblem problem = exchange_study::paper_problem(
        exchange_study::PaperPattern::diagonal, 60, node, tofu_link_rate);
    BottomLeft packer;
    EngineQueues queues;
    packer.pack(problem, {4, false, false, node.engine_rate}, queues);
    const double unaware = exchange_us(problem, queues);
    packer.pack(problem, {4, false, true, node.engine_rate}, queues);
    const double aware = exchange_us(problem, queues);
    EXPECT_TRUE(queues.of[3].empty());
    const double costs = node.start_us + 8 * node.command_us;
    EXPECT_NEAR(unaware - costs, 3.5, 0.01);
    EXPECT_LT(aware, unaware - 1.5);
    double packed_end = 0;
    for (const double begin : packer.begin_us())
        packed_end = std::max(packed_end, begin + 1024 / node.engine_rate);
    EXPECT_NEAR(packed_end, 1.5, 1e-9);
}

}  // namespace
}  // namespace acp::exchange
