// SPDX-License-Identifier: BSD-3-Clause
// The case that applies to each load of a machine, and properties of every row of the table.
#include "node/wait_policy.hpp"

#include <gtest/gtest.h>

namespace acp::node {
namespace {

struct Expected {
    WaitLoad load;
    LookCost look_cost;
    WaitCase which;
};

class WaitCaseTest : public testing::TestWithParam<Expected> {};

TEST_P(WaitCaseTest, of_a_load) {
    const Expected& expected = GetParam();
    EXPECT_EQ(wait_case_of(expected.load, expected.look_cost), expected.which);
}

INSTANTIATE_TEST_SUITE_P(cheap,
                         WaitCaseTest,
                         testing::Values(Expected{{1, 1, 1}, LookCost::cheap, WaitCase::own_cpu},
                                         Expected{{2, 2, 1}, LookCost::cheap, WaitCase::own_cpu},
                                         Expected{{3, 2, 1}, LookCost::cheap, WaitCase::crowded},
                                         Expected{{2, 2, 2}, LookCost::cheap, WaitCase::crowded},
                                         Expected{{2, 4, 2}, LookCost::cheap, WaitCase::own_cpu}));

// The service threads, which poll the network, count too.
INSTANTIATE_TEST_SUITE_P(
    dear,
    WaitCaseTest,
    testing::Values(Expected{{1, 1, 1}, LookCost::dear, WaitCase::cpu_per_thread_dear},
                    Expected{{1, 2, 1}, LookCost::dear, WaitCase::own_cpu_dear},
                    Expected{{2, 2, 1}, LookCost::dear, WaitCase::cpu_per_thread_dear},
                    Expected{{2, 2, 2}, LookCost::dear, WaitCase::cpu_per_rank_dear},
                    Expected{{3, 2, 1}, LookCost::dear, WaitCase::crowded_dear},
                    Expected{{2, 4, 2}, LookCost::dear, WaitCase::own_cpu_dear}));

// Two threads that yield to each other are separated by a nap of one of them, where there may be an
// idle CPU. That one must be the program's thread, since its peer's service thread does not nap.
TEST(WaitCases, a_programs_thread_naps_wherever_a_service_thread_may_yield_to_it) {
    for (std::uint32_t cpus = 1; cpus <= 8; ++cpus) {
        for (std::uint32_t ranks = 1; ranks <= cpus; ++ranks) {
            const auto policy_of = [&](std::uint32_t threads_per_rank) {
                const WaitLoad load{ranks, cpus, threads_per_rank};
                return wait_policy(wait_case_of(load, LookCost::dear), load);
            };
            const WaitPolicy program = policy_of(1);
            const WaitPolicy service = policy_of(2);
            EXPECT_EQ(program.is_yielding, service.is_yielding) << ranks << " on " << cpus;
            EXPECT_EQ(program.is_napping, program.is_yielding) << ranks << " on " << cpus;
        }
    }
}

TEST(ServiceNap, takes_the_same_share_of_a_cpu_however_many_ranks_share_it) {
    const std::int64_t alone_ns = service_nap_max_ns({2, 2, 1});
    EXPECT_GE(alone_ns, 1'000'000);
    EXPECT_EQ(service_nap_max_ns({1, 4, 1}), alone_ns);
    EXPECT_EQ(service_nap_max_ns({3, 2, 1}), 2 * alone_ns);
    EXPECT_EQ(service_nap_max_ns({16, 2, 1}), 8 * alone_ns);
    EXPECT_EQ(service_nap_max_ns({17, 2, 1}), 8 * alone_ns) << "the longest";
    EXPECT_EQ(service_nap_max_ns({4096, 1, 1}), 8 * alone_ns);
}

class WaitPolicyTest : public testing::TestWithParam<std::uint32_t> {
protected:
    [[nodiscard]] static WaitPolicy policy_at(const WaitLoad& load) {
        return wait_policy(static_cast<WaitCase>(GetParam()), load);
    }
};

TEST_P(WaitPolicyTest, looks_for_at_least_twice_a_wake_up_before_it_sleeps) {
    EXPECT_GE(policy_at({2, 2, 1}).poll_ns, 50'000U);
}

TEST_P(WaitPolicyTest, looks_longer_the_more_threads_share_a_cpu_if_it_yields) {
    const WaitPolicy few = policy_at({4, 2, 1});
    const WaitPolicy many = policy_at({64, 2, 1});
    if (few.is_yielding && few.look_cost == LookCost::dear) {
        EXPECT_EQ(many.poll_ns, 16 * few.poll_ns) << "as long by its own share of a CPU";
        EXPECT_GT(many.long_yield_ns, few.long_yield_ns);
        EXPECT_LT(many.long_yield_ns, 3'000'000U)
            << "shorter than the yield after which a computing thread has kept the CPU";
    } else if (few.is_yielding) {
        EXPECT_EQ(many.poll_ns - few.poll_ns, many.long_yield_ns - few.long_yield_ns);
        EXPECT_GE(many.poll_ns - few.poll_ns, 30 * 4'000U);
    } else {
        EXPECT_EQ(many.poll_ns, few.poll_ns);
    }
}

TEST_P(WaitPolicyTest, a_yield_counts_as_long_only_where_it_yields_and_is_longer_than_a_poll) {
    const WaitPolicy policy = policy_at({8, 2, 1});
    EXPECT_EQ(policy.long_yield_ns > policy.poll_ns, policy.is_yielding);
}

TEST_P(WaitPolicyTest, only_yielding_threads_nap_or_stay) {
    const WaitPolicy policy = policy_at({2, 2, 1});
    EXPECT_TRUE(policy.is_yielding || (!policy.is_napping && policy.stay_ns == 0)) << policy.name;
    EXPECT_LE(policy.stay_ns, policy.poll_ns);
}

INSTANTIATE_TEST_SUITE_P(every_row,
                         WaitPolicyTest,
                         testing::Range(std::uint32_t{0}, wait_case_count),
                         [](const testing::TestParamInfo<std::uint32_t>& row) {
                             const auto which = static_cast<WaitCase>(row.param);
                             return std::string(wait_policy(which, {}).name);
                         });

}  // namespace
}  // namespace acp::node
