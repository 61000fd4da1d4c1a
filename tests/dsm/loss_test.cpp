// SPDX-License-Identifier: BSD-3-Clause
// A node is lost that is the home of shared pages: barriers return an error, copies stay readable, and
// a touch of a page without a copy ends the rank with a sentence, whatever ACP_ON_ERROR says.
#include <gtest/gtest.h>

#include "support/job.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

TEST(DsmLoss, a_touch_of_a_page_whose_home_is_lost_ends_the_rank_with_a_sentence) {
    arm_watchdog(240, "a job that loses a home");
    for (const char* const way : {"async", "sync", "protect"}) {
        JobOptions options;
        options.ranks = 2;
        options.launcher = {"--on-failure=continue", "--nodes", "2", "--heap-size", "32M"};
        options.program = {ACP_TEST_PROGRAM_DIR "/dsm_loss_probe"};
        options.environment = {"ACP_ON_ERROR=return", std::string("ACP_DSM_FAULTS=") + way};
        const JobResult result = run_job(options);
        const auto says = [&](const char* words) {
            EXPECT_NE(result.output.find(words), std::string::npos) << words << "\n"
                                                                    << result.output;
        };
        says("the barrier was refused");
        says("the copy has 5");
        // This way fetches whole blocks of pages.
        const bool is_block = std::string(way) == "protect";
        says("acp: rank 0 on ");
        says(is_block ? ": shared pages 48 to 63 cannot be fetched from their home, node 1"
                      : ": shared page 48 cannot be fetched from its home, node 1");
        says("rank 1 on node 1");
        says("was killed by signal 9");
        says("acp_prefetch_dsm returns an error");
        says("no other node has the bytes");
    }
    arm_watchdog(0, "");
}

}  // namespace
}  // namespace acp::test
