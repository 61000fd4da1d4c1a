// SPDX-License-Identifier: BSD-3-Clause
// The measurements in the text of paper 003: the simulator with the fitted rates reproduces them
// within 2 %, and every order that the paper states. N1 .. N15 are the numbers of
// docs/guide/exchange.md.
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "exchange/bottom_left.hpp"
#include "exchange/network_presets.hpp"
#include "exchange/round_robin.hpp"

#include "exchange_study/fluid.hpp"
#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange_study {
namespace {

constexpr double tolerance = 0.02;

exchange::EngineQueues round_robin_queues(const exchange::NodeProblem& problem, unsigned engines) {
    exchange::EngineQueues queues;
    exchange::round_robin(problem, engines, queues);
    return queues;
}

exchange::EngineQueues bottom_left_queues(const exchange::NodeProblem& problem,
                                          unsigned diagonals) {
    exchange::EngineQueues queues;
    exchange::BottomLeft().pack(problem, {diagonals}, queues);
    return queues;
}

double round_robin_us(PaperPattern pattern, unsigned engines) {
    const exchange::NodeProblem problem = paper_problem(pattern, 872);
    return exchange_us(problem, round_robin_queues(problem, engines));
}

double bottom_left_us(PaperPattern pattern, unsigned diagonals) {
    const exchange::NodeProblem problem = paper_problem(pattern, 872);
    return exchange_us(problem, bottom_left_queues(problem, diagonals));
}

void expect_near(double seen, double stated) {
    EXPECT_NEAR(seen / stated, 1, tolerance) << seen << " where the paper has " << stated;
}

TEST(PaperNumbers, east_and_west) {
    constexpr PaperPattern pattern = PaperPattern::east_west;
    for (const unsigned diagonals : {1U, 2U, 4U})
        expect_near(bottom_left_us(pattern, diagonals), 72);  // N1
    expect_near(round_robin_us(pattern, 2), 72);
    expect_near(round_robin_us(pattern, 4), 72);
    expect_near(round_robin_us(pattern, 1), 126);  // N4: twice the 54 us of the others, and 18
}

TEST(PaperNumbers, north_and_south) {
    constexpr PaperPattern pattern = PaperPattern::north_south;
    expect_near(round_robin_us(pattern, 4), 64);                                       // N5
    expect_near(2 * 112'128 / (round_robin_us(pattern, 4) - 18), 2 * 112'128 / 46.0);  // N6
    expect_near(bottom_left_us(pattern, 4), 74);                                       // N7
    expect_near(round_robin_us(pattern, 2), 108);                                      // N8
    expect_near(round_robin_us(pattern, 1), 130);                                      // N9
}

TEST(PaperNumbers, four_directions) {
    constexpr PaperPattern pattern = PaperPattern::four;
    const double time = bottom_left_us(pattern, 4);
    expect_near(time, 86);                                          // N10
    expect_near(2 * 112'128 / (time - 23), 2 * 112'128 / 63.0);     // N11
    EXPECT_LT(time, round_robin_us(PaperPattern::north_south, 2));  // N12
    EXPECT_LT(time, round_robin_us(pattern, 4));
    EXPECT_LT(round_robin_us(pattern, 4), round_robin_us(pattern, 2));
}

TEST(PaperNumbers, eight_directions_are_four_and_a_little) {
    const double four = bottom_left_us(PaperPattern::four, 4);
    const double eight = bottom_left_us(PaperPattern::eight, 4);
    EXPECT_LT(four, eight);  // N15
    EXPECT_LT(eight, 1.25 * four);
    EXPECT_LT(eight, bottom_left_us(PaperPattern::eight, 2));
    EXPECT_LT(bottom_left_us(PaperPattern::eight, 2), bottom_left_us(PaperPattern::eight, 1));
    for (const unsigned engines : {1U, 2U, 4U})
        EXPECT_LT(eight, round_robin_us(PaperPattern::eight, engines));
}

// Diagonals on a whole torus whose nodes do not start at quite the same time, and whose links lose
// a little where flows share them: the mean of ten such exchanges.
double skewed_us(const exchange::NetworkModel& torus,
                 std::uint32_t grid_size,
                 const exchange::EngineQueues& queues) {
    const auto messages = paper_messages(PaperPattern::diagonal, grid_size);
    constexpr int exchanges = 10;
    double sum = 0;
    base::Random random(1);
    for (int i = 0; i < exchanges; ++i) {
        std::vector<FluidQueue> all;
        for (exchange::ModelNode node = 0; node < torus.nodes; ++node) {
            const double begin = static_cast<double>(random.below(1'000'000)) / 1e6;
            const auto here = exchange::place_of(torus, node);
            for (std::uint32_t e = 0; e < torus.node.engines; ++e) {
                FluidQueue queue{node, e, begin, {}};
                for (const exchange::QueuedPiece& piece : queues.of[e]) {
                    auto place = here;
                    for (std::size_t d = 0; d < 2; ++d) {
                        const std::uint32_t ring = torus.torus[d];
                        const auto step = static_cast<std::uint32_t>(
                            messages[piece.message].offset[d] + static_cast<std::int32_t>(ring));
                        place[d] = (here[d] + step) % ring;
                    }
                    queue.commands.push_back({exchange::node_at(torus, place), e, piece.bytes});
                }
                all.push_back(std::move(queue));
            }
        }
        FluidSimulation simulation(torus);
        sum += simulation.run(all).value().transfer_us;
    }
    return sum / exchanges;
}

// N14: BLbased(4), BLbased(2), RoundRobin(4), RoundRobin(2), from the fastest on.
TEST(PaperNumbers, diagonals_are_in_the_order_of_the_paper_with_skew_and_loss) {
    exchange::NodeRates node;
    node.link_loss = 0.01;
    const exchange::NetworkModel torus =
        exchange::make_torus({6, 8}, exchange::tofu_link_rate * 1.01, node).value();
    for (const std::uint32_t grid_size : {436U, 872U}) {
        const exchange::NodeProblem problem =
            paper_problem(PaperPattern::diagonal, grid_size, node, exchange::tofu_link_rate * 1.01);
        const double times[] = {skewed_us(torus, grid_size, bottom_left_queues(problem, 4)),
                                skewed_us(torus, grid_size, bottom_left_queues(problem, 2)),
                                skewed_us(torus, grid_size, round_robin_queues(problem, 4)),
                                skewed_us(torus, grid_size, round_robin_queues(problem, 2))};
        EXPECT_LT(times[0], times[1]) << grid_size;
        EXPECT_LT(times[1], times[2]) << grid_size;
        EXPECT_LT(times[2], times[3]) << grid_size;
    }
}

}  // namespace
}  // namespace acp::exchange_study
