// SPDX-License-Identifier: BSD-3-Clause
// Jobs in which a rank dies and the others, on its node and on another one, use its memory
// (dead_memory.cpp), or use lists with elements there once it is gone (lost_memory.cpp). Driver.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/job.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

struct Shape {
    int nodes;
    std::vector<std::string> environment;
};

class DeadMemoryTest : public ::testing::TestWithParam<Shape> {
protected:
    void SetUp() override {
        adopt_orphans();
        arm_watchdog(120, "memory of a dead rank");
    }

    void TearDown() override { arm_watchdog(0, ""); }
};

void expect_survivors_done(const JobResult& result, std::size_t survivors) {
    EXPECT_EQ(result.code, 137) << result.output;
    std::size_t done = 0;
    for (std::size_t at = result.output.find("done"); at != std::string::npos;
         at = result.output.find("done", at + 1)) {
        ++done;
    }
    EXPECT_EQ(done, survivors) << result.output;
}

TEST_P(DeadMemoryTest, is_used_by_the_others_as_long_as_its_node_lives) {
    JobOptions options;
    options.launcher = {
        "--on-failure=continue",         "--heap-size", "32M", "--starter-size", "2M", "--nodes",
        std::to_string(GetParam().nodes)};
    options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/faults_dead_memory"};
    options.environment = GetParam().environment;
    options.environment.emplace_back("ACP_ON_ERROR=return");
    expect_survivors_done(run_job(options), 3);
}

class LostMemoryTest : public DeadMemoryTest {};

TEST_P(LostMemoryTest, fails_calls_on_lists_that_need_it_and_leaves_the_lists_usable) {
    JobOptions options;
    options.ranks = 3;
    options.launcher = {"--on-failure=continue", "--heap-size", "8M", "--nodes",
                        std::to_string(GetParam().nodes)};
    options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/faults_lost_memory"};
    if (GetParam().nodes == 2) options.program.emplace_back("agent");
    options.environment = GetParam().environment;
    options.environment.emplace_back("ACP_ON_ERROR=return");
    expect_survivors_done(run_job(options), 2);
}

class DeadDeviceTest : public DeadMemoryTest {};

TEST_P(DeadDeviceTest, fails_the_commands_on_its_memory_and_leaves_the_others) {
    JobOptions options;
    options.launcher = {"--on-failure=continue", "--heap-size", "8M", "--nodes",
                        std::to_string(GetParam().nodes)};
    options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/faults_dead_device"};
    options.environment = GetParam().environment;
    options.environment.emplace_back("ACP_ON_ERROR=return");
    options.environment.emplace_back("ACP_DEVICES=far:16M");
    expect_survivors_done(run_job(options), 3);
}

INSTANTIATE_TEST_SUITE_P(jobs,
                         DeadDeviceTest,
                         ::testing::Values(Shape{1, {}},
                                           Shape{2, {}},
                                           Shape{4, {}},
                                           Shape{1, {"ACP_INTRANODE=mailbox"}}));

// On 3 nodes each rank is its own gateway; on 2 nodes the last rank's node is lost.
INSTANTIATE_TEST_SUITE_P(jobs,
                         LostMemoryTest,
                         ::testing::Values(Shape{3, {}}, Shape{2, {"ACP_PEER_TIMEOUT=1"}}));

INSTANTIATE_TEST_SUITE_P(jobs,
                         DeadMemoryTest,
                         ::testing::Values(Shape{1, {}},
                                           Shape{2, {}},
                                           Shape{2, {"ACP_ATTACH=off"}},
                                           Shape{2, {"ACP_RAILS=3"}}));

}  // namespace
}  // namespace acp::test
