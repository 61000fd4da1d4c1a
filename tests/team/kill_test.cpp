// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a member of a team at random moments of its calls: calls of every other member fail in
// time, and the team can be freed. A driver: the ranks are team_victim.
#include "support/member_kills.hpp"

namespace acp::test {
namespace {

class TeamKillTest : public MemberKills {};

TEST_F(TeamKillTest, all_other_members_are_refused_in_time) {
    expect_others_are_refused_in_time(ACP_TEST_PROGRAM_DIR "/team_victim");
}

}  // namespace
}  // namespace acp::test
