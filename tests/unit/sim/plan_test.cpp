// SPDX-License-Identifier: BSD-3-Clause
// Plans are made from the seed alone and stay within bounds. Main thread only.
#include "sim/plan.hpp"

#include <bit>
#include <gtest/gtest.h>

namespace acp::sim {
namespace {

TEST(Plan, is_the_same_for_the_same_seed_and_within_its_bounds) {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        for (const Scale scale : {Scale::small, Scale::full}) {
            const Plan plan = make_plan(seed, scale);
            EXPECT_EQ(describe(plan), describe(make_plan(seed, scale)));
            EXPECT_GE(plan.nodes, 2U);
            EXPECT_LE(plan.nodes, scale == Scale::small ? 8U : nodes_max);
            EXPECT_LE(plan.link.loss_ppm, million / 2);
            EXPECT_LE(plan.link.corrupt_ppm, million / 10);
            EXPECT_LE(plan.link.reorder_span, reorder_span_max);
            for (const PlannedFault& fault : plan.faults) EXPECT_LE(fault.until, plan.faults_end);
            for (std::uint32_t process = 0; process < plan.procs(); ++process) {
                const NodeId node = plan.node_of(process);
                EXPECT_LE(plan.first_process[node], process);
                EXPECT_GT(plan.first_process[node + 1], process);
            }
        }
    }
}

TEST(Plan, draws_every_logarithm_alike) {
    base::Random random(1);
    std::vector<std::uint32_t> per_bits(11);
    for (int i = 0; i < 11'000; ++i) {
        const std::uint64_t value = log_uniform(random, 1, 1024);
        ASSERT_GE(value, 1U);
        ASSERT_LE(value, 1024U);
        ++per_bits[static_cast<std::size_t>(std::bit_width(value)) - 1];
    }
    for (const std::uint32_t count : per_bits) EXPECT_NEAR(count, 1000, 200);
}

TEST(Plan, of_a_soak_has_only_faults_that_heal_by_themselves) {
    const Plan plan = make_soak_plan(3, 5);
    EXPECT_EQ(plan.nodes, 4U);
    Time last = 0;
    for (const PlannedFault& fault : plan.faults) {
        EXPECT_TRUE(fault.kind != FaultKind::restart && fault.kind != FaultKind::death &&
                    fault.kind != FaultKind::sever);
        EXPECT_GT(fault.until, fault.from);
        last = std::max(last, fault.from);
    }
    EXPECT_GT(last, 3 * soak_round_ns) << "faults come in every round";
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
