// SPDX-License-Identifier: BSD-3-Clause
// The exchange in phases.
#include "exchange_study/two_phase.hpp"

#include <gtest/gtest.h>
#include <map>
#include <string>

#include "exchange/network_presets.hpp"

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange_study {
namespace {

std::map<std::string, double> bytes_by_direction(const exchange::NodeProblem& problem) {
    std::map<std::string, double> bytes;
    for (const exchange::ProblemMessage& message : problem.messages())
        bytes[problem.classes()[message.route_class].name] += message.bytes;
    return bytes;
}

TEST(TwoPhase, forwards_the_diagonals) {
    const auto phases = two_phase(paper_problem(PaperPattern::eight, 872));
    ASSERT_EQ(phases.size(), 2U);
    const double first = 224'256 + 4 * 14'016;
    const double second = 2 * 112'128 + 4 * 14'016;
    EXPECT_EQ(bytes_by_direction(phases[0].problem),
              (std::map<std::string, double>{{"E", first}, {"W", first}}));
    EXPECT_EQ(bytes_by_direction(phases[1].problem),
              (std::map<std::string, double>{{"N", second}, {"S", second}}));
    EXPECT_EQ(phases[0].queues.pieces(), 2U);
    EXPECT_EQ(phases[1].queues.pieces(), 4U);
    EXPECT_GT(exchange_us(phases),
              2 * 14.6 + first / exchange::tofu_link_rate + second / exchange::tofu_link_rate);
}

TEST(TwoPhase, makes_messages_where_only_diagonals_are) {
    const auto phases = two_phase(paper_problem(PaperPattern::diagonal, 60));
    ASSERT_EQ(phases.size(), 2U);
    EXPECT_EQ(bytes_by_direction(phases[0].problem),
              (std::map<std::string, double>{{"E", 4096}, {"W", 4096}}));
    EXPECT_EQ(bytes_by_direction(phases[1].problem),
              (std::map<std::string, double>{{"N", 4096}, {"S", 4096}}));
}

TEST(TwoPhase, needs_one_phase_for_one_dimension) {
    const auto phases = two_phase(paper_problem(PaperPattern::north_south, 60));
    ASSERT_EQ(phases.size(), 1U);
    EXPECT_EQ(phases[0].problem.messages().size(), 4U);
}

}  // namespace
}  // namespace acp::exchange_study
