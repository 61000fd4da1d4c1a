// SPDX-License-Identifier: BSD-3-Clause
// Requests of collective calls at their limits: too many, misused, after members have made
// different calls, with refused allocations, and at the end of a team or an epoch.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/team_fixture.hpp"
#include "support/refuse_memory.hpp"

namespace acp::test {
namespace {

class TeamRequestLifeTest : public TeamTest {
protected:
    static void expect_well(acp_team_request_t request) {
        ASSERT_NE(request, ACP_TEAM_REQUEST_NULL) << acp_error_message();
        EXPECT_EQ(acp_wait_team(request), 0) << acp_error_message();
    }

    void expect_begin_refused(acp_team_request_t request, int code, const std::string& part) {
        EXPECT_EQ(request, ACP_TEAM_REQUEST_NULL);
        expect_refused(-1, code, part);
    }
};

void add_elements(void* into, const void* from, std::size_t count, void* context) {
    (void)context;
    for (std::size_t i = 0; i < count; ++i)
        static_cast<std::int64_t*>(into)[i] += static_cast<const std::int64_t*>(from)[i];
}

TEST_F(TeamRequestLifeTest, the_documented_number_of_calls_may_be_in_flight_and_no_more) {
    constexpr int limit = 1024;
    const acp_team_t team = acp_split_team(world_, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL);
    if (procs_ > 1) {
        std::vector<acp_team_request_t> requests;
        if (rank_ == 0) {
            for (int i = 0; i < limit; ++i) {
                requests.push_back(acp_nbsync_team(team));
                ASSERT_NE(requests.back(), ACP_TEAM_REQUEST_NULL) << i << acp_error_message();
            }
            expect_begin_refused(acp_nbsync_team(team), ACP_ERR_LIMIT, "1024");
        }
        sync_ranks();
        for (int i = 0; i < limit && rank_ != 0; ++i)
            ASSERT_EQ(acp_sync_team(team), 0) << acp_error_message();
        for (const acp_team_request_t request : requests) expect_well(request);
    }
    free_team(team);
}

TEST_F(TeamRequestLifeTest, misuse_is_refused) {
    std::int64_t number = 0;
    const acp_team_request_t ended = acp_nbsync_team(world_);
    expect_well(ended);
    for (const acp_team_request_t request : {ended, ACP_TEAM_REQUEST_NULL}) {
        const std::string name = hexadecimal_at(request);
        expect_refused(acp_wait_team(request), ACP_ERR_STALE, "no such request as " + name);
        expect_refused(acp_test_team(request), ACP_ERR_STALE, "no such request as " + name);
        EXPECT_EQ(acp_wait_team_timeout(request, 0), ACP_ERR_STALE);
    }
    expect_begin_refused(acp_nbsync_team(ACP_TEAM_NULL), ACP_ERR_STALE, "acp_nbsync_team");
    expect_begin_refused(acp_nbbroadcast_team(world_, nullptr, 8, 0), ACP_ERR_ARGUMENT, "buf is");
    expect_begin_refused(acp_nbbroadcast_team(world_, &number, 8, procs_), ACP_ERR_ARGUMENT,
                         "root");
    expect_begin_refused(acp_nbreduce_team(world_, &number, &number, 1, 0, ACP_SUM, 0),
                         ACP_ERR_ARGUMENT, "type 0");
    expect_begin_refused(acp_nballreduce_team(world_, nullptr, &number, 1, ACP_INT64, ACP_SUM),
                         ACP_ERR_ARGUMENT, "send is");
    expect_begin_refused(acp_nbscan_team(world_, &number, &number, 1, ACP_INT64, 9),
                         ACP_ERR_ARGUMENT, "operation 9");
    const auto never = [](void*, const void*, std::size_t, void*) {
        ADD_FAILURE() << "a combine function is called for no elements";
    };
    for (const auto by : {acp_allreduce_by_team, acp_scan_by_team})
        EXPECT_EQ(by(world_, nullptr, nullptr, 0, 8, never, nullptr), 0) << acp_error_message();
    for (const auto by : {acp_nballreduce_by_team, acp_nbscan_by_team}) {
        expect_begin_refused(by(world_, &number, &number, 1, 8, nullptr, nullptr), ACP_ERR_ARGUMENT,
                             "combine is NULL");
    }
    expect_begin_refused(
        acp_nbreduce_by_team(world_, &number, &number, 1, 40'000, add_elements, nullptr, 0),
        ACP_ERR_LIMIT, "40000");
    expect_begin_refused(acp_nbgather_team(world_, nullptr, 8, &number, 0), ACP_ERR_ARGUMENT,
                         "send is");
    expect_begin_refused(acp_nballgather_team(world_, &number, 8, nullptr), ACP_ERR_ARGUMENT,
                         "recv is");
    expect_begin_refused(acp_nbscatter_team(world_, &number, 8, &number, -1), ACP_ERR_ARGUMENT,
                         "root -1");
    expect_begin_refused(acp_nballtoall_team(world_, &number, 8, nullptr), ACP_ERR_ARGUMENT,
                         "recv is");
    expect_begin_refused(
        acp_nballtoallv_team(world_, &number, nullptr, nullptr, &number, nullptr, nullptr),
        ACP_ERR_ARGUMENT, "send_sizes");
    if (procs_ > 1) {
        // A timed-out barrier must complete before the next request can be issued, and cannot start
        // while requests are in flight.
        if (rank_ != 0) {
            EXPECT_EQ(acp_sync_team_timeout(world_, 0), ACP_ERR_TIMEOUT);
            expect_begin_refused(acp_nbsync_team(world_), ACP_ERR_STATE, "before acp_nbsync_team");
        }
        sync_ranks();
        EXPECT_EQ(acp_sync_team(world_), 0);
        if (rank_ != 0) {
            const acp_team_request_t under_way = acp_nbsync_team(world_);
            EXPECT_EQ(acp_sync_team_timeout(world_, 1000), ACP_ERR_STATE);
            sync_ranks();
            expect_well(under_way);
        } else {
            sync_ranks();
            EXPECT_EQ(acp_sync_team(world_), 0);
        }
    }
    EXPECT_EQ(acp_allreduce_team(world_, &number, &number, 1, ACP_INT64, ACP_SUM), 0);
}

TEST_F(TeamRequestLifeTest, requests_fail_when_members_make_different_calls) {
    if (procs_ == 1) return;
    const acp_team_t team = acp_split_team(world_, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL);
    std::int64_t number = 0;
    std::array<std::int64_t, 2> numbers{};
    const acp_team_request_t first =
        rank_ == 0
            ? acp_nballreduce_team(team, &number, &number, 1, ACP_INT64, ACP_SUM)
            : acp_nballreduce_team(team, numbers.data(), numbers.data(), 2, ACP_INT64, ACP_SUM);
    const acp_team_request_t second = acp_nbsync_team(team);
    for (const acp_team_request_t request : {first, second}) {
        expect_refused(acp_wait_team(request), ACP_ERR_MISMATCH, "acp_nballreduce_team of 8 bytes");
        EXPECT_NE(std::string(acp_error_message()).find("acp_nballreduce_team of 16 bytes"),
                  std::string::npos)
            << acp_error_message();
    }
    const acp_team_request_t later = acp_nbsync_team(team);
    expect_refused(acp_wait_team(later), ACP_ERR_MISMATCH, "acp_nballreduce_team");
    sync_ranks();
    free_team(team);
}

TEST_F(TeamRequestLifeTest, acp_free_team_and_acp_reset_end_calls_in_flight) {
    const acp_team_t team = acp_split_team(world_, 0, 0);
    std::vector<std::int64_t> numbers(30'000, 1);
    const acp_team_request_t before = acp_nballreduce_team(team, numbers.data(), numbers.data(),
                                                           numbers.size(), ACP_INT64, ACP_SUM);
    free_team(team);
    expect_well(before);
    EXPECT_EQ(numbers.back(), procs_);
    // No other member makes these calls, so they cannot complete.
    std::vector<acp_team_request_t> dropped;
    if (rank_ == 0 && procs_ > 1) {
        dropped.push_back(acp_nballreduce_team(world_, numbers.data(), numbers.data(),
                                               numbers.size(), ACP_INT64, ACP_SUM));
        dropped.push_back(acp_nballtoall_team(world_, numbers.data(), 8, numbers.data() + procs_));
    }
    ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
    world_ = acp_world_team();
    for (const acp_team_request_t request : dropped)
        expect_refused(acp_wait_team(request), ACP_ERR_STALE, "no such request");
    std::int64_t number = 1;
    expect_well(acp_nballreduce_team(world_, &number, &number, 1, ACP_INT64, ACP_SUM));
    EXPECT_EQ(number, procs_);
}

// The epoch continues, and so do teams, also those with calls in flight.
TEST_F(TeamRequestLifeTest, a_reset_that_is_refused_breaks_no_team) {
    if (procs_ == 1) return;
    const acp_team_t team = acp_split_team(world_, 0, rank_);
    std::int64_t number = 1;
    const acp_team_request_t request =
        acp_nballreduce_team(team, &number, &number, 1, ACP_INT64, ACP_SUM);
    ASSERT_NE(request, ACP_TEAM_REQUEST_NULL) << acp_error_message();
    EXPECT_EQ(acp_reset(0), -1) << "all ranks want to be rank 0";
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
    expect_well(request);
    EXPECT_EQ(number, procs_);
    EXPECT_EQ(acp_sync_team(team), 0) << acp_error_message();
    EXPECT_EQ(acp_sync_team(world_), 0) << acp_error_message();
    free_team(team);
}

// A handle is stale, also when requests of the new epoch reuse its record.
TEST_F(TeamRequestLifeTest, handles_from_before_a_reset_name_nothing_after_it) {
    std::int64_t number = 1;
    const acp_team_request_t before =
        acp_nballreduce_team(world_, &number, &number, 1, ACP_INT64, ACP_SUM);
    ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
    world_ = acp_world_team();
    number = 1;
    const acp_team_request_t now =
        acp_nballreduce_team(world_, &number, &number, 1, ACP_INT64, ACP_SUM);
    expect_refused(acp_wait_team(before), ACP_ERR_STALE, "no such request");
    expect_well(now);
    EXPECT_EQ(number, procs_);
}

// One member issues calls while its allocations are refused: either no member's request is issued,
// or all fail.
TEST_F(TeamRequestLifeTest, all_members_fail_when_one_has_no_memory_for_a_call) {
    bool is_over = false;
    for (std::uint64_t first = 1; !is_over; ++first) {
        ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
        world_ = acp_world_team();
        ASSERT_EQ(acp_sync_team(world_), 0) << acp_error_message();
        // So that no member is still in acp_sync_team when the next call breaks the team.
        sync_ranks();
        std::vector<std::int64_t> numbers(9000, 1);
        bool is_well = true;
        bool is_seen = true;
        {
            const bool is_refused = rank_ == procs_ - 1;
            const Refusal refusal(is_refused ? first : 0, 1);
            acp_team_request_t request = ACP_TEAM_REQUEST_NULL;
            while (request == ACP_TEAM_REQUEST_NULL) {
                request = acp_nballreduce_team(world_, numbers.data(), numbers.data(),
                                               numbers.size(), ACP_INT64, ACP_SUM);
                if (request == ACP_TEAM_REQUEST_NULL) {
                    EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
                }
            }
            is_well = acp_wait_team(request) == 0;
            if (!is_well) {
                EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
            }
            is_seen = is_refused && Refusal::seen() >= first;
        }
        sync_ranks();
        if (is_well) {
            EXPECT_EQ(numbers.back(), procs_);
        }
        is_over = exchange(is_seen ? 1 : 0)[static_cast<std::size_t>(procs_ - 1)] == 0;
    }
    ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
