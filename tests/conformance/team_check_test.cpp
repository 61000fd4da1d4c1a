// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK: a member makes a call of all ranks of the job, while the others wait for it in a
// collective call on a team; and cases that are no mistake.
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "conformance/team_fixture.hpp"

namespace acp::test {
namespace {

// Longer than a waiting member takes until it reports a mistake.
void let_the_others_wait() {
    std::this_thread::sleep_for(std::chrono::seconds(3));  // lint: sleep is the subject
}

// Rank 0 calls `collective`, the function of this name that all ranks have to call. The other ranks
// first call acp_sync_team, which fails with a message that names both functions, then `collective`.
template <typename Collective>
void check_mismatch(acp_team_t world, const std::string& name, const Collective& collective) {
    const acp_team_t team = acp_split_team(world, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
    if (acp_rank() != 0) {
        EXPECT_EQ(acp_sync_team(team), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_MISMATCH) << acp_error_message();
        const std::string said = acp_error_message();
        EXPECT_NE(said.find("has called acp_sync_team"), std::string::npos) << said;
        EXPECT_NE(said.find("member 0 (rank 0) " + name), std::string::npos) << said;
    }
    ASSERT_EQ(collective(), 0) << acp_error_message();
    // An ended epoch leaves no team: its handle is stale.
    const bool is_over = acp_query_team_size(team) == -1;
    EXPECT_EQ(acp_sync_team(team), -1);
    EXPECT_EQ(acp_errno(), is_over ? ACP_ERR_STALE : ACP_ERR_MISMATCH) << acp_error_message();
    if (!is_over) {
        EXPECT_EQ(acp_free_team(team), 0) << acp_error_message();
    }
}

TEST_F(TeamTest, a_member_that_meets_all_ranks_instead_is_named_with_its_call) {
    check_mismatch(world_, "acp_sync", acp_sync);
    check_mismatch(world_, "acp_reset", [this] { return acp_reset(rank_); });
    world_ = acp_world_team();
    EXPECT_EQ(acp_sync_team(world_), 0) << acp_error_message();
}

// Rank 0 starts an exchange and waits for it; its partner calls acp_sync instead of starting it.
TEST_F(TeamTest, a_member_that_meets_all_ranks_instead_of_an_exchange_is_named_with_its_call) {
    std::array<char, 8> from{};
    std::array<char, 8> to{};
    const acp_pattern_t pattern = acp_create_pattern(world_);
    if (rank_ == 0) {
        EXPECT_EQ(acp_add_recv_pattern(pattern, 1, to.data(), to.size()), 0);
    }
    if (rank_ == 1) {
        EXPECT_EQ(acp_add_send_pattern(pattern, -1, from.data(), from.size()), 0);
    }
    const acp_plan_t plan = acp_compile_pattern(pattern, nullptr);
    ASSERT_NE(plan, ACP_PLAN_NULL) << acp_error_message();
    if (rank_ == 0) {
        ASSERT_EQ(acp_start_plan(plan), 0) << acp_error_message();
        expect_refused(acp_wait_plan(plan), ACP_ERR_MISMATCH,
                       "rank 0 waits for a plan, and rank 1, which has not done its part, has "
                       "called acp_sync");
    }
    ASSERT_EQ(acp_sync(), 0) << acp_error_message();
    (void)acp_free_plan(plan);
    EXPECT_EQ(acp_free_pattern(pattern), 0);
}

// As above, after rank 1 has started the exchange: then rank 1 has sent its messages, or sends them
// while it waits in acp_sync, however long that takes.
TEST_F(TeamTest, a_member_that_has_started_an_exchange_may_meet_all_ranks_before_its_end) {
    constexpr std::size_t bytes = 4096;
    const acp_ga_t block = acp_malloc(bytes, rank_);
    ASSERT_NE(block, ACP_GA_NULL) << acp_error_message();
    const acp_pattern_t pattern = acp_create_pattern(world_);
    const int next = (rank_ + 1) % procs_;
    const int before = (rank_ + procs_ - 1) % procs_;
    std::array<char, bytes> to{};
    EXPECT_EQ(acp_add_send_pattern(pattern, next - rank_, acp_query_address(block), bytes), 0);
    EXPECT_EQ(acp_add_recv_pattern(pattern, before - rank_, to.data(), bytes), 0);
    const acp_plan_t plan = acp_compile_pattern(pattern, nullptr);
    ASSERT_NE(plan, ACP_PLAN_NULL) << acp_error_message();
    if (rank_ == 0) let_the_others_wait();
    EXPECT_EQ(acp_start_plan(plan), 0) << acp_error_message();
    if (rank_ % 2 == 1) {
        EXPECT_EQ(acp_sync(), 0) << acp_error_message();
    }
    EXPECT_EQ(acp_wait_plan(plan), 0) << acp_error_message();
    if (rank_ % 2 == 0) {
        EXPECT_EQ(acp_sync(), 0) << acp_error_message();
    }
    EXPECT_EQ(acp_free_plan(plan), 0) << acp_error_message();
    EXPECT_EQ(acp_free_pattern(pattern), 0);
    EXPECT_EQ(acp_free(block), 0);
}

// A second thread of rank 0 makes its first collective call late, either on the team or acp_sync.
TEST_F(TeamTest, a_thread_that_makes_its_first_collective_call_late_breaks_no_team) {
    const acp_team_t team = acp_split_team(world_, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
    for (const bool is_late_on_team : {true, false}) {
        const auto on_team = [&] { EXPECT_EQ(acp_sync_team(team), 0) << acp_error_message(); };
        const auto of_all = [&] { EXPECT_EQ(acp_sync(), 0) << acp_error_message(); };
        // Rank 0's main thread makes the call that the other ranks make second.
        if ((rank_ == 0) == is_late_on_team) {
            std::thread late([&] {
                let_the_others_wait();
                if (is_late_on_team) {
                    on_team();
                } else {
                    of_all();
                }
            });
            if (is_late_on_team) {
                of_all();
            } else {
                on_team();
            }
            late.join();
        } else if (is_late_on_team) {
            on_team();
            of_all();
        } else {
            of_all();
            on_team();
        }
    }
    free_team(team);
}

// A member whose call has a timeout returns by itself and can make the call of all ranks later, so
// the call does not fail.
TEST_F(TeamTest, a_call_with_a_timeout_does_not_fail_by_a_call_of_all_ranks) {
    const acp_team_t team = acp_split_team(world_, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
    if (rank_ != 0) {
        constexpr int longer_ms = 3'000;
        EXPECT_EQ(acp_sync_team_timeout(team, longer_ms), ACP_ERR_TIMEOUT) << acp_error_message();
    }
    EXPECT_EQ(acp_sync(), 0) << acp_error_message();
    EXPECT_EQ(acp_sync_team(team), 0) << acp_error_message();
    free_team(team);
}

TEST_F(TeamTest, a_call_that_does_not_block_is_called_by_its_own_name) {
    const acp_team_t team = acp_split_team(world_, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
    std::uint64_t word = 0;
    if (rank_ == 0) {
        const acp_team_request_t request = acp_nbsync_team(team);
        ASSERT_NE(request, ACP_TEAM_REQUEST_NULL) << acp_error_message();
        EXPECT_EQ(acp_wait_team(request), -1);
    } else {
        EXPECT_EQ(acp_broadcast_team(team, &word, sizeof word, 0), -1);
    }
    EXPECT_EQ(acp_errno(), ACP_ERR_MISMATCH) << acp_error_message();
    EXPECT_NE(std::string(acp_error_message()).find("acp_nbsync_team"), std::string::npos)
        << acp_error_message();
    free_team(team);
    EXPECT_EQ(acp_sync(), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
