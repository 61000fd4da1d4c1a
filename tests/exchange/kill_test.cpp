// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a member at random moments of an exchange: every other member is refused in time, and
// the plan can be freed. A driver: the ranks are exchange_victim.
#include "support/member_kills.hpp"

namespace acp::test {
namespace {

class ExchangeKillTest : public MemberKills {};

TEST_F(ExchangeKillTest, all_other_members_are_refused_in_time) {
    expect_others_are_refused_in_time(ACP_TEST_PROGRAM_DIR "/exchange_victim");
}

}  // namespace
}  // namespace acp::test
