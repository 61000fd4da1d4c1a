// SPDX-License-Identifier: BSD-3-Clause
// The loss of one process's command does not delay another process of the same node. Two simulated
// nodes in virtual time, so that latencies can be compared to the nanosecond.
#include <gtest/gtest.h>

#include "sim/world.hpp"

namespace acp::sim {
namespace {

// steps of each process, so that the connection has settled
constexpr std::uint32_t warm_steps = 50;
constexpr Time warm_gap_ns = 200 * us;
constexpr Time cut_ns = 35 * us;   // datagrams sent within this time after last_ns are lost
constexpr Time last_ns = 20 * ms;  // when process 0 issues its last command
constexpr Time longer_ack_ns = 50;
constexpr std::uint64_t word_bytes = 8;

struct Latencies {
    Time first = 0;   // latency of the last command of process 0
    Time second = 0;  // latency of the last command of process 1
};

// Processes 0 and 1 are on node 0, process 2 is on node 1.
Plan make_plan_of_two(bool is_lossy) {
    Plan plan;
    plan.seed = 1;
    plan.nodes = 2;
    plan.first_process = {0, 2, 3};
    plan.manners.assign(3, MemoryManner::prompt);
    plan.steps = warm_steps + 1;
    plan.faults_end = last_ns + cut_ns;
    if (is_lossy) {
        plan.faults.push_back({FaultKind::one_way, 0, 1, 0, last_ns - us, plan.faults_end});
    }
    return plan;
}

// Each process puts words to process 2, the last one of process 1 some time after that of process
// 0.
Workplan make_work_of_two(const Plan& plan, Time apart_ns) {
    Workplan work;
    work.memory_bytes.assign(3, 4096);
    work.programs.resize(3);
    for (std::uint32_t process = 0; process < 2; ++process) {
        for (std::uint32_t i = 0; i < plan.steps; ++i) {
            ProgramStep step;
            const std::uint64_t place = (std::uint64_t{process} * plan.steps + i) * word_bytes;
            step.source = {process, place, word_bytes};
            step.target = {2, place, word_bytes};
            step.command.bytes = word_bytes;
            const bool is_last = i + 1 == plan.steps;
            step.gap_ns = is_last ? last_ns - (warm_steps - 1) * warm_gap_ns + process * apart_ns
                                  : warm_gap_ns * (i == 0 ? 0 : 1);
            work.programs[process].push_back(step);
        }
    }
    return work;
}

Latencies latencies(bool is_lossy, Time apart_ns) {
    const Plan plan = make_plan_of_two(is_lossy);
    World world(plan, make_work_of_two(plan, apart_ns), {});
    const std::uint64_t all_bytes = plan.steps * word_bytes;
    Latencies result;
    for (bool is_on = world.begin(); is_on && (result.first == 0 || result.second == 0);
         is_on = world.advance()) {
        if (result.first == 0 && world.referee().bytes_of(0) == all_bytes) {
            result.first = world.now() - last_ns;
        }
        if (result.second == 0 && world.referee().bytes_of(1) == all_bytes) {
            result.second = world.now() - last_ns - apart_ns;
        }
    }
    EXPECT_EQ(world.verdict().violation, "");
    return result;
}

class IsolationTest : public testing::TestWithParam<Time> {};

TEST_P(IsolationTest, the_loss_of_one_command_does_not_delay_that_of_another_process) {
    const Latencies clean = latencies(false, GetParam());
    const Latencies lossy = latencies(true, GetParam());
    ASSERT_GT(clean.second, 0U);
    EXPECT_GE(lossy.first, 2 * clean.first) << "nothing was lost";
    // An acknowledgement with a gap is some bytes longer than one without.
    EXPECT_LE(lossy.second, clean.second + longer_ack_ns);
    EXPECT_LT(lossy.second, lossy.first);
}

// Distances: right after the lost command, within its round trip, and while it waits for its probe.
INSTANTIATE_TEST_SUITE_P(apart,
                         IsolationTest,
                         testing::Values(40 * us, 90 * us, 500 * us),
                         [](const auto& each) { return std::to_string(each.param / us) + "_us"; });

// namespace acp::sim
}  // namespace
}  // namespace acp::sim
