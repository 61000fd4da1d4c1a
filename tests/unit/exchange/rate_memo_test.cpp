// SPDX-License-Identifier: BSD-3-Clause
// Remembered rates equal those of the problem.
#include "exchange/rate_memo.hpp"

#include <gtest/gtest.h>

#include "random_problem.hpp"

namespace acp::exchange {
namespace {

void expect_same(const NodeProblem& problem, RateMemo& memo, const std::vector<ClassIndex>& flows) {
    const auto count = static_cast<unsigned>(flows.size());
    std::vector<double> rates(flows.size());
    problem.share(flows.data(), count, rates.data());
    const FlowShare* const shares = memo.share(flows.data(), count);
    for (std::size_t i = 0; i < flows.size(); ++i) {
        EXPECT_EQ(shares[i].rate, rates[i]);
        EXPECT_EQ(shares[i].us_per_byte, 1 / rates[i]);
    }
}

TEST(RateMemo, returns_the_rates_of_the_problem_also_when_sets_of_flows_collide) {
    base::Random random(21);
    RateMemo memo;
    for (std::size_t round = 0; round < 6; ++round) {
        NodeRates node;
        node.engines = engines_max;
        node.link_loss = round % 3 == 2 ? 0.01 : 0;
        const NodeProblem problem = random_problem(random, 2 + round % 2, 64, node);
        memo.begin(problem);
        for (int i = 0; i < 20'000;
             ++i) {  // of 26 classes there are ten times as many sets of four as are kept
            std::vector<ClassIndex> flows(1 + random.below(engines_max));
            for (ClassIndex& flow : flows)
                flow = static_cast<ClassIndex>(random.below(problem.classes().size()));
            expect_same(problem, memo, flows);
        }
    }
}

TEST(RateMemo, forgets_one_problem_when_it_begins_with_another_one) {
    base::Random random(22);
    const NodeProblem problem = random_problem(random, 2, 30);
    NodeRates half = problem.node();
    half.engine_rate /= 2;
    half.injection_rate /= 2;
    const NodeProblem slower = problem.with_rates(half, 0.5);
    RateMemo memo(problem);
    const std::vector<ClassIndex> flows = {0, 1, 1, 0};
    expect_same(problem, memo, flows);
    memo.begin(slower);
    expect_same(slower, memo, flows);
}

TEST(RateMemo, counts_questions_and_the_flows_of_those_whose_answer_it_had_to_find) {
    base::Random random(23);
    NodeRates node;
    node.engines = engines_max;
    const NodeProblem problem = random_problem(random, 2, 30, node);
    RateMemo memo;
    memo.begin(problem, 16);
    const std::vector<ClassIndex> flows = {0, 1, 1, 0, 2};
    memo.share(flows.data(), 4);
    EXPECT_EQ(memo.steps(), 5U);
    memo.share(flows.data(), 4);
    EXPECT_EQ(memo.steps(), 6U);
    EXPECT_EQ(memo.steps_left(), 10U);
    memo.share(flows.data(), 5);  // more than it keeps
    EXPECT_EQ(memo.steps(), 17U);
    EXPECT_EQ(memo.steps_left(), 0U);
    memo.begin(problem);
    EXPECT_EQ(memo.steps(), 0U);
    EXPECT_EQ(memo.steps_left(), RateMemo::steps_unbounded);
}

}  // namespace
}  // namespace acp::exchange
