// SPDX-License-Identifier: BSD-3-Clause
// Simulated jobs from a plan to a verdict: the same seed gives the same run, a clean network loses
// no datagram, faults have their effects, and a test may inspect a job event by event. That the
// referee finds planted defects is shown by tests/sim/mutants.py. Main thread only.
#include "sim/world.hpp"

#include <gtest/gtest.h>

namespace acp::sim {
namespace {

// Two nodes of two processes over a network without faults.
Plan clean_plan(std::uint32_t steps = 20) {
    Plan plan;
    plan.seed = 5;
    plan.first_process = {0, 2, 4};
    plan.manners.assign(4, MemoryManner::prompt);
    plan.steps = steps;
    return plan;
}

RunVerdict verdict_of(const Plan& plan) {
    return World(plan, WorldOptions{}).run();
}

TEST(World, the_same_seed_gives_the_same_run_and_another_one_another) {
    const RunVerdict first = run_seed(11, Scale::small);
    EXPECT_TRUE(first.is_ok()) << first.violation;
    EXPECT_EQ(first.hash, run_seed(11, Scale::small).hash);
    EXPECT_NE(first.hash, run_seed(12, Scale::small).hash);
    const RunVerdict twice = run_seed_twice(11, Scale::small);
    EXPECT_TRUE(twice.is_ok()) << twice.violation;
    EXPECT_EQ(twice.hash, first.hash);
}

TEST(World, over_a_clean_network_everything_is_done_and_nothing_sent_again) {
    const RunVerdict verdict = verdict_of(clean_plan());
    EXPECT_TRUE(verdict.is_ok()) << verdict.violation;
    EXPECT_EQ(verdict.severed, 0U);
    EXPECT_EQ(verdict.retransmitted, 0U);
    EXPECT_GT(verdict.events, 0U);
    EXPECT_GT(verdict.virtual_ns, 0U);
}

TEST(World, losses_are_seen_to_have_come_and_are_mended) {
    Plan plan = clean_plan(100);
    plan.link.loss_ppm = million / 5;
    plan.faults_end = 60 * s;
    const RunVerdict verdict = verdict_of(plan);
    EXPECT_TRUE(verdict.is_ok()) << verdict.violation;
    EXPECT_GT(verdict.retransmitted, 0U);
}

TEST(World, nodes_that_sever_each_other_stay_severed_and_all_commands_complete) {
    Plan plan = clean_plan();
    plan.faults = {{.kind = FaultKind::sever, .a = 0, .b = 1, .from = 200 * us, .until = 200 * us}};
    plan.faults_end = s;
    const RunVerdict verdict = verdict_of(plan);
    EXPECT_TRUE(verdict.is_ok()) << verdict.violation;
    EXPECT_EQ(verdict.severed, 2U) << "each way";
}

TEST(World, watched_event_by_event_it_ends_as_when_it_runs) {
    const Plan plan = clean_plan();
    World world(plan, WorldOptions{});
    std::uint64_t events = 0;
    Time before = 0;
    for (bool is_on = world.begin(); is_on; is_on = world.advance()) {
        EXPECT_GE(world.now(), before);
        before = world.now();
        ++events;
    }
    EXPECT_GT(events, 100U);
    EXPECT_TRUE(world.verdict().is_ok()) << world.verdict().violation;
}

TEST(World, prints_its_events_on_request) {
    std::FILE* story = std::tmpfile();
    ASSERT_NE(story, nullptr);
    EXPECT_TRUE(run_seed(1, Scale::small, story).is_ok());
    EXPECT_GT(std::ftell(story), 0);
    std::fclose(story);
}

TEST(World, a_soak_reports_each_round) {
    std::vector<std::uint32_t> rounds;
    const RunVerdict verdict = run_soak(2, 3, [&](std::uint32_t round, const RunVerdict& so_far) {
        rounds.push_back(round);
        EXPECT_TRUE(so_far.is_ok()) << so_far.violation;
    });
    EXPECT_TRUE(verdict.is_ok()) << verdict.violation;
    EXPECT_EQ(rounds, (std::vector<std::uint32_t>{1, 2, 3}));
    EXPECT_GE(verdict.virtual_ns, 2 * soak_round_ns);
}

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
