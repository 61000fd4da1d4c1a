// SPDX-License-Identifier: BSD-3-Clause
// Teams in forked children, with refused allocations, and at the end of an epoch.
#include <cstdint>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "conformance/team_fixture.hpp"
#include "support/clock.hpp"
#include "support/refuse_memory.hpp"

namespace acp::test {
namespace {

TEST_F(TeamTest, a_forked_child_is_refused_and_the_parent_continues) {
    const acp_team_t team = acp_split_team(world_, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL);
    const acp_team_request_t under_way = acp_nbsync_team(team);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        char byte = 0;
        const bool is_refused =
            acp_sync_team(team) == -1 && acp_errno() == ACP_ERR_FORKED &&
            acp_broadcast_team(team, &byte, 1, 0) == -1 && acp_errno() == ACP_ERR_FORKED &&
            acp_sync_team_timeout(team, 0) == ACP_ERR_FORKED &&
            acp_nbsync_team(team) == ACP_TEAM_REQUEST_NULL && acp_errno() == ACP_ERR_FORKED &&
            acp_wait_team(under_way) == -1 && acp_errno() == ACP_ERR_FORKED &&
            acp_test_team(under_way) == -1 && acp_errno() == ACP_ERR_FORKED &&
            acp_malloc_team(team, 8) == ACP_GA_NULL && acp_errno() == ACP_ERR_FORKED &&
            acp_split_team(team, 0, 0) == ACP_TEAM_NULL && acp_errno() == ACP_ERR_FORKED &&
            acp_query_team_size(team) == -1 && acp_errno() == ACP_ERR_FORKED &&
            acp_free_team(team) == -1 && acp_errno() == ACP_ERR_FORKED;
        _exit(is_refused ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(acp_wait_team(under_way), 0) << acp_error_message();
    EXPECT_EQ(status, 0) << "a call of the child was not refused with ACP_ERR_FORKED";
    std::int32_t sum = 1;
    EXPECT_EQ(acp_allreduce_team(team, &sum, &sum, 1, ACP_INT32, ACP_SUM), 0);
    EXPECT_EQ(sum, procs_);
    free_team(team);
}

// Makes a team and calls of several kinds on it while allocations of one rank are refused. Returns
// whether all calls succeeded.
bool use_with_refusals(acp_team_t world,
                       bool is_refused,
                       std::uint64_t first,
                       std::uint64_t count) {
    std::vector<std::uint64_t> numbers(9000, 1);
    std::vector<std::uint64_t> room(numbers.size() * static_cast<std::size_t>(acp_procs()));
    const Refusal refusal(is_refused ? first : 0, count);
    const acp_team_t team = acp_split_team(world, 0, 0);
    if (team == ACP_TEAM_NULL) return false;
    const bool is_well = acp_allreduce_team(team, numbers.data(), room.data(), numbers.size(),
                                            ACP_UINT64, ACP_SUM) == 0 &&
                         acp_allgather_team(team, numbers.data(), 8 * 100, room.data()) == 0 &&
                         acp_alltoall_team(team, room.data(), 8, numbers.data()) == 0 &&
                         acp_sync_team(team) == 0;
    const int code = acp_errno();
    const bool is_freed = acp_free_team(team) == 0;
    EXPECT_TRUE(is_well || code == ACP_ERR_MEMORY) << code << ": " << acp_error_message();
    return is_well && is_freed;
}

// Each rank reads from each rank, so that all nodes have connected: connecting needs memory.
void meet_all(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
        std::uint64_t word = 0;
        EXPECT_EQ(acp_wait(acp_get(&word, acp_query_starter_ga(rank), 8, ACP_HANDLE_NULL), -1),
                  ACP_OK)
            << acp_error_message();
    }
}

// Whichever allocation is refused, in whichever call: all members fail, and no wait lasts.
TEST_F(TeamTest, all_members_fail_when_one_has_no_memory_left) {
    for (const std::uint64_t count : {std::uint64_t{1}, all_from_there}) {
        bool is_over = false;
        for (std::uint64_t first = 1; !is_over; first += 1 + first / 8) {
            // A refused call on the team of all ranks breaks it, so each trial has an epoch of its
            // own.
            ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
            world_ = acp_world_team();
            meet_all(procs_);
            const bool is_well = use_with_refusals(world_, rank_ == procs_ - 1, first, count);
            const bool is_seen = rank_ != procs_ - 1 || Refusal::seen() >= first;
            sync_ranks();
            // Members may succeed in a call in which they need nothing from the refused member.
            const auto told = exchange(is_well ? 0 : 1);
            const auto seen = exchange(is_seen ? 1 : 0);
            is_over = seen[static_cast<std::size_t>(procs_ - 1)] == 0;
            if (is_over) {
                EXPECT_EQ(std::accumulate(told.begin(), told.end(), std::uint64_t{0}), 0U);
            }
        }
    }
    ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
    world_ = acp_world_team();
    EXPECT_EQ(acp_sync_team(world_), 0) << acp_error_message();
}

// The last member makes another call at a random moment. At that moment member 1 may be copying out
// of the buffer of member 0, and member 0 withdraws it: member 1's error must name the
// other call, not the loss of member 0.
TEST_F(TeamTest, a_copy_from_a_withdrawn_buffer_fails_with_the_cause) {
    constexpr std::size_t bytes = 2 << 20;
    constexpr std::uint64_t late_ns = 3'000'000;
    const auto procs = static_cast<std::size_t>(procs_);
    const acp_ga_t memory = acp_malloc(bytes * (procs + 1), rank_);
    ASSERT_NE(memory, ACP_GA_NULL) << acp_error_message();
    char* const all = static_cast<char*>(acp_query_address(memory));
    Random random = common_random();
    for (int round = 0; round < 12 && procs_ > 2; ++round) {
        const acp_team_t team = acp_split_team(world_, 0, 0);
        ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
        const bool is_other = rank_ == procs_ - 1;
        const std::int64_t until = now_ns() + static_cast<std::int64_t>(random.below(late_ns));
        while (is_other && now_ns() < until) {
        }
        const std::size_t wanted = is_other ? bytes - 8 : bytes;
        // A member that completed before the mismatch was found gets the error from its next call.
        if (acp_scatter_team(team, all, wanted, all + bytes * procs, 0) == 0) {
            EXPECT_EQ(acp_sync_team(team), -1);
        }
        EXPECT_EQ(acp_errno(), ACP_ERR_MISMATCH) << acp_error_message();
        free_team(team);
        sync_ranks();
    }
    EXPECT_EQ(acp_free(memory), 0);
}

TEST_F(TeamTest, acp_reset_ends_broken_teams_and_barriers_that_are_late) {
    if (procs_ > 1) {
        if (rank_ != 0) {
            EXPECT_EQ(acp_sync_team_timeout(world_, 0), ACP_ERR_TIMEOUT);
        }
        sync_ranks();
        const acp_team_t team = acp_world_team();
        ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
        world_ = acp_world_team();
        if (team != world_) {
            expect_refused(acp_sync_team(team), ACP_ERR_STALE, "no such team");
        }
        std::int32_t sum = 1;
        ASSERT_EQ(acp_allreduce_team(world_, &sum, &sum, 1, ACP_INT32, ACP_SUM), 0)
            << acp_error_message();
        EXPECT_EQ(sum, procs_);
        // So that no member is still in acp_allreduce_team when the next call breaks the team.
        sync_ranks();
        // Rank 0 calls another function than the others: the team is broken.
        EXPECT_EQ(rank_ == 0 ? acp_sync_team(world_)
                             : acp_allreduce_team(world_, &sum, &sum, 1, ACP_INT32, ACP_SUM),
                  -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_MISMATCH) << acp_error_message();
        sync_ranks();
    }
    ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
    world_ = acp_world_team();
    EXPECT_EQ(acp_sync_team(world_), 0) << acp_error_message();
}

TEST_F(TeamTest, teams_end_with_the_epoch) {
    const acp_team_t team = acp_split_team(world_, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL);
    ASSERT_EQ(acp_reset((rank_ + 1) % procs_), 0) << acp_error_message();
    world_ = acp_world_team();
    EXPECT_EQ(acp_query_team_rank(world_), acp_rank());
    std::int32_t sum = 1;
    EXPECT_EQ(acp_allreduce_team(world_, &sum, &sum, 1, ACP_INT32, ACP_SUM), 0)
        << acp_error_message();
    EXPECT_EQ(sum, procs_);
    ASSERT_EQ(acp_reset((acp_rank() + procs_ - 1) % procs_), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
