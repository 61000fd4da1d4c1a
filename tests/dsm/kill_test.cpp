// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a rank that shares pages over several nodes, at random moments of faults, flushes and
// barriers: the barrier of every other rank fails in time. A driver: the ranks are dsm_victim.
#include "support/member_kills.hpp"

namespace acp::test {
namespace {

class DsmKillTest : public MemberKills {};

TEST_F(DsmKillTest, all_other_ranks_are_refused_in_time) {
    expect_others_are_refused_in_time(ACP_TEST_PROGRAM_DIR "/dsm_victim");
}

}  // namespace
}  // namespace acp::test
