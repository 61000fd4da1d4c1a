// SPDX-License-Identifier: BSD-3-Clause
// Jobs in which a rank dies and the others, on its node and on another one, use its memory:
// dead_memory.cpp. Driver.
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

TEST_P(DeadMemoryTest, is_used_by_the_others_as_long_as_its_node_lives) {
    JobOptions options;
    options.launcher = {
        "--on-failure=continue",         "--heap-size", "32M", "--starter-size", "2M", "--nodes",
        std::to_string(GetParam().nodes)};
    options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/faults_dead_memory"};
    options.environment = GetParam().environment;
    options.environment.emplace_back("ACP_ON_ERROR=return");
    const JobResult result = run_job(options);
    EXPECT_EQ(result.code, 137) << result.output;
    std::size_t done = 0;
    for (std::size_t at = result.output.find("done"); at != std::string::npos;
         at = result.output.find("done", at + 1)) {
        ++done;
    }
    EXPECT_EQ(done, 3U) << result.output;
}

INSTANTIATE_TEST_SUITE_P(jobs,
                         DeadMemoryTest,
                         ::testing::Values(Shape{1, {}},
                                           Shape{2, {}},
                                           Shape{2, {"ACP_ATTACH=off"}},
                                           Shape{2, {"ACP_RAILS=3"}}));

}  // namespace
}  // namespace acp::test
