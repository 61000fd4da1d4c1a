// SPDX-License-Identifier: BSD-3-Clause
// Shared pages in a job of several nodes are refused on all ranks.
#include <gtest/gtest.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

class DsmNodesTest : public RankedTest {};

TEST_F(DsmNodesTest, several_nodes_are_refused_on_all_ranks_and_the_job_continues) {
    EXPECT_EQ(acp_init_dsm(4096), -1);
    expect_error(ACP_ERR_UNSUPPORTED, {"acp_init_dsm", "one node alone", "2 nodes"});
    EXPECT_EQ(acp_barrier_dsm(), -1);
    expect_error(ACP_ERR_STATE, {"acp_barrier_dsm"});
    EXPECT_EQ(acp_sync_team(acp_world_team()), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
