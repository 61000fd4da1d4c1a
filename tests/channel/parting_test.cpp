// SPDX-License-Identifier: BSD-3-Clause
// A rank is killed after it has freed its end of a channel: the free of the other end succeeds. A
// driver: the ranks are parting_rank.
#include <gtest/gtest.h>
#include <string>

#include "channel/parting_board.hpp"
#include "support/board.hpp"
#include "support/clock.hpp"
#include "support/job.hpp"
#include "support/kill_driver.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

TEST(ChannelPartingTest, a_free_goes_well_where_the_partner_dies_after_its_own) {
    adopt_orphans();
    arm_watchdog(240, "a job of which a rank is killed");
    const auto board = Board<PartingBoard>::create();
    JobOptions options;
    options.ranks = parting_ranks;
    options.launcher = {"--on-failure=continue", "--nodes",
                        std::to_string(number_of("TEST_NODES", 1))};
    options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/parting_rank"};
    options.environment = {board.environment_entry(), "ACP_ON_ERROR=return"};
    Job job(options);
    EXPECT_EQ(job.wait_ended(90 * second_ns), 137) << job.output();
    for (const PartingNote& note : board->ranks) EXPECT_STREQ(note.message, "");
    EXPECT_EQ(board->is_over.load(std::memory_order_acquire), 1);
    arm_watchdog(0, "");
}

}  // namespace
}  // namespace acp::test
