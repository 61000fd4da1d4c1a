// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK: members that call what all ranks of the job meet in, while others wait for them in a collective call on a team.
#include <string>

#include "conformance/team_fixture.hpp"

namespace acp::test {
namespace {

// Rank 0 makes `meet`, which is called `name`, and the others a call on a team: these are told, and make `meet` too.
template <typename Meet>
void check_meeting(acp_team_t world, const std::string& name, const Meet& meet) {
    const acp_team_t team = acp_split_team(world, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
    if (acp_rank() != 0) {
        EXPECT_EQ(acp_sync_team(team), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_MISMATCH) << acp_error_message();
        const std::string said = acp_error_message();
        EXPECT_NE(said.find("has called acp_sync_team"), std::string::npos) << said;
        EXPECT_NE(said.find("member 0 (rank 0) " + name), std::string::npos) << said;
    }
    ASSERT_EQ(meet(), 0) << acp_error_message();
    // Of a team of an epoch that is over nothing is left.
    const bool is_over = acp_query_team_size(team) == -1;
    EXPECT_EQ(acp_sync_team(team), -1);
    EXPECT_EQ(acp_errno(), is_over ? ACP_ERR_STALE : ACP_ERR_MISMATCH) << acp_error_message();
    if (!is_over) {
        EXPECT_EQ(acp_free_team(team), 0) << acp_error_message();
    }
}

TEST_F(TeamTest, a_member_that_meets_all_ranks_instead_is_named_with_its_call) {
    check_meeting(world_, "acp_sync", acp_sync);
    check_meeting(world_, "acp_reset", [this] { return acp_reset(rank_); });
    world_ = acp_world_team();
    EXPECT_EQ(acp_sync_team(world_), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
