// SPDX-License-Identifier: BSD-3-Clause
// The compared message library: paper 003 says that it takes about twice the time of BLbased(4).
#include "exchange_study/eager_rendezvous.hpp"

#include <gtest/gtest.h>

#include "exchange/bottom_left.hpp"

#include "exchange_study/paper_patterns.hpp"

namespace acp::exchange_study {
namespace {

double ratio_to_bottom_left(PaperPattern pattern) {
    const exchange::NodeProblem problem = paper_problem(pattern, 872);
    exchange::EngineQueues queues;
    exchange::BottomLeft packer;
    packer.pack(problem, {}, queues);
    const double bottom_left = exchange_us(problem, queues);
    const auto asked = static_cast<double>(eager_rendezvous(problem, queues));
    return (exchange_us(problem, queues) + asked * problem.node().command_us) / bottom_left;
}

TEST(EagerRendezvous, takes_twice_as_long_as_bottom_left_in_four_and_eight_directions) {
    EXPECT_NEAR(ratio_to_bottom_left(PaperPattern::four), 2, 0.04);
    EXPECT_NEAR(ratio_to_bottom_left(PaperPattern::eight), 2, 0.04);
}

TEST(EagerRendezvous, asks_for_what_is_longer_than_its_limit) {
    exchange::EngineQueues queues;
    EXPECT_EQ(eager_rendezvous(paper_problem(PaperPattern::eight, 60), queues), 6U);
    EXPECT_EQ(eager_rendezvous(paper_problem(PaperPattern::eight, 872), queues), 14U);
    const exchange::NodeProblem problem =
        paper_problem(PaperPattern::east_west, 60).with_messages({{4096, 0}, {4097, 1}});
    EXPECT_EQ(eager_rendezvous(problem, queues), 1U);
}

}  // namespace
}  // namespace acp::exchange_study
