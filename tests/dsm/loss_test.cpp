// SPDX-License-Identifier: BSD-3-Clause
// A node is lost that is the home of shared pages: barriers return an error, copies stay readable, and
// a touch of a page without a copy ends the rank with a sentence, whatever ACP_ON_ERROR says. A rank
// dies, and another one gives the shared pages up: the others keep them.
#include <gtest/gtest.h>
#include <string>

#include <acp.h>

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
        const auto says = [&](const std::string& words) {
            EXPECT_NE(result.output.find(words), std::string::npos) << words << "\n"
                                                                    << result.output;
        };
        says("the barrier was refused");
        says("the copy has 5");
        // This way fetches whole blocks of pages.
        const bool is_block = std::string(way) == "protect";
        says(is_block
                 ? "the prefetch of own pages returns -1, error " + std::to_string(ACP_ERR_PEER)
                 : "the prefetch of own pages returns 0, error 0");
        says("acp: rank 0 on ");
        says(is_block ? ": shared pages 48 to 63 cannot be fetched from their home, node 1"
                      : ": shared page 48 cannot be fetched from its home, node 1");
        says("rank 1 (process ");
        says(") on node 1 (");
        says("was killed by signal 9");
        says("acp_prefetch_dsm returns an error");
        says("no other node has the bytes");
    }
    arm_watchdog(0, "");
}

// The leader of a node gives up its pages, by which call, after a barrier failed.
struct GivenUp {
    int nodes;
    const char* way;  // ACP_DSM_FAULTS
    const char* call;
};

class DsmGivenUp : public ::testing::TestWithParam<GivenUp> {};

TEST_P(DsmGivenUp, other_ranks_read_and_write_all_pages_afterwards) {
    arm_watchdog(120, "a job whose shared pages are given up by a rank");
    const std::string nodes = std::to_string(GetParam().nodes);
    JobOptions options;
    options.launcher = {"--on-failure=continue", "--nodes", nodes, "--heap-size", "32M"};
    options.program = {ACP_TEST_PROGRAM_DIR "/dsm_finalize_probe", nodes, GetParam().call};
    options.environment = {"ACP_ON_ERROR=return", std::string("ACP_DSM_FAULTS=") + GetParam().way};
    const JobResult result = run_job(options);
    const auto says = [&](const std::string& words) {
        EXPECT_NE(result.output.find(words), std::string::npos) << words << "\n" << result.output;
    };
    const std::string refused = "-1, error " + std::to_string(ACP_ERR_PEER);
    says("free: " + refused);
    if (std::string(GetParam().call) == "finalize_dsm") says("finalize_dsm: " + refused);
    // 5 of each page, and what the reader wrote
    says("the pages have " + std::to_string(64 * 5 + 63 * 64 / 2));
    arm_watchdog(0, "");
}

INSTANTIATE_TEST_SUITE_P(Dsm,
                         DsmGivenUp,
                         ::testing::Values(GivenUp{1, "auto", "finalize_dsm"},
                                           GivenUp{1, "auto", "finalize"},
                                           GivenUp{2, "async", "finalize_dsm"},
                                           GivenUp{2, "sync", "finalize_dsm"},
                                           GivenUp{2, "protect", "finalize_dsm"}));

}  // namespace
}  // namespace acp::test
