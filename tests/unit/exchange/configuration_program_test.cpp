// SPDX-License-Identifier: BSD-3-Clause
// The configuration program: results known by hand, and no schedule is faster.
#include "exchange/configuration_program.hpp"

#include <gtest/gtest.h>

#include "exchange/engine_queues.hpp"
#include "exchange/lower_bounds.hpp"

#include "exchange_study/paper_patterns.hpp"
#include "random_problem.hpp"

namespace acp::exchange {
namespace {

TEST(ConfigurationProgram, is_the_load_bound_where_that_can_be_reached) {
    EXPECT_NEAR(configuration_bound_us(
                    exchange_study::paper_problem(exchange_study::PaperPattern::north_south, 872)),
                2 * 112'128 / 5067.0, 1e-3);
    EXPECT_NEAR(configuration_bound_us(
                    exchange_study::paper_problem(exchange_study::PaperPattern::four, 872)),
                4 * 224'256 / 14'025.0, 1e-3);
}

// One engine sends one at a time: the time of all together.
TEST(ConfigurationProgram, is_exact_with_one_engine) {
    NodeRates node;
    node.engines = 1;
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::eight, 436, node, 3000);
    EXPECT_NEAR(configuration_bound_us(problem), 506'880 / 3000.0, 1e-3);
}

// With two engines and two messages of one link that is slower than both, and one of another.
TEST(ConfigurationProgram, is_a_linear_program_over_what_can_run_at_once) {
    NodeRates node;
    node.engines = 2;
    node.engine_rate = 10;
    node.injection_rate = node.reception_rate = 100;
    // N alone 10, N and N 12 together; E beside them 10. All of E beside N: 10 us, then 100 bytes
    // of N at 12.
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::four, 60, node, 12)
            .with_messages({{100, 0}, {100, 2}, {100, 2}});
    ASSERT_EQ(problem.classes()[0].name, "E");
    ASSERT_EQ(problem.classes()[2].name, "N");
    EXPECT_NEAR(configuration_bound_us(problem), 10 + 100 / 12.0, 1e-4);
    EXPECT_NEAR(load_bound_us(problem), 200 / 12.0, 1e-9);
}

TEST(ConfigurationProgram, is_beaten_by_no_schedule) {
    base::Random random(4);
    for (std::size_t round = 0; round < 200; ++round) {
        const NodeProblem problem = random_problem(random, 2 + round % 2, 1 + random.below(12));
        EngineQueues queues;
        for (std::uint32_t i = 0; i < problem.messages().size(); ++i) {
            const ProblemMessage& message = problem.messages()[i];
            const double half = std::floor(message.bytes / 2);
            queues.of[random.below(4)].push_back({half, i, message.route_class});
            queues.of[random.below(4)].push_back({message.bytes - half, i, message.route_class});
        }
        std::array<double, engines_max> ends{};
        const double bound = configuration_bound_us(problem);
        EXPECT_LE(bound, transfer_us(problem, queues, ends) + 1e-6) << "round " << round;
        EXPECT_GE(bound, load_bound_us(problem) - 1e-3) << "round " << round;
    }
}

TEST(ConfigurationProgram, refuses_problems_with_too_many_sets) {
    NodeRates node;
    node.engines = 8;
    base::Random random(9);
    EXPECT_EQ(configuration_bound_us(random_problem(random, 3, 60, node)), 0);
    const NodeProblem problem =
        exchange_study::paper_problem(exchange_study::PaperPattern::eight, 60, node, 5067);
    EXPECT_GT(configuration_bound_us(problem), 0);  // 12 869 sets
    EXPECT_EQ(all_bounds(random_problem(random, 3, 60, node)).configuration_us, 0);
}

}  // namespace
}  // namespace acp::exchange
