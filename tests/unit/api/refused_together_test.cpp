// SPDX-License-Identifier: BSD-3-Clause
// Teams, channels, PM messages, patterns, shared pages and workspaces with arguments that a job of
// one rank cannot serve. Each call has its code and a message with its name and the value, and
// allocates nothing; the object that it was called with works afterwards.
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include <acp.h>

#include "unit/api/called.hpp"
#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
constexpr int int_min = std::numeric_limits<int>::min();
constexpr int int_max = std::numeric_limits<int>::max();

// A handle that no call has returned.
template <typename Handle>
Handle foreign(std::uint64_t number) {
    return reinterpret_cast<Handle>(number);  // NOLINT(performance-no-int-to-ptr)
}

class RefusedTogether : public OneRankJob {
protected:
    void expect_all(const std::vector<RefusedCall>& rows) {
        for (const RefusedCall& row : rows) expect_refused(row);
        expect_unchanged();
    }
};

TEST_F(RefusedTogether, teams_that_are_none) {
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, all}) {
        const auto team = foreign<acp_team_t>(number);
        std::array<std::uint64_t, 4> memory{};
        std::uint64_t* const buf = memory.data();
        const std::array<int, 1> ranks{0};
        const int* const list = ranks.data();
        SCOPED_TRACE(number);
        expect_all({
            ACP_REFUSED(acp_split_team, ACP_ERR_STALE, "", team, 0, 0),
            ACP_REFUSED(acp_split_team_by_node, ACP_ERR_STALE, "", team),
            ACP_REFUSED(acp_create_team, ACP_ERR_STALE, "", team, list, 1),
            ACP_REFUSED(acp_free_team, ACP_ERR_STALE, "", team),
            ACP_REFUSED(acp_query_team_rank, ACP_ERR_STALE, "", team),
            ACP_REFUSED(acp_query_team_size, ACP_ERR_STALE, "", team),
            ACP_REFUSED(acp_translate_team_rank, ACP_ERR_STALE, "", team, 0, acp_world_team()),
            ACP_REFUSED(acp_translate_team_rank, ACP_ERR_STALE, "", acp_world_team(), 0, team),
            ACP_REFUSED(acp_sync_team, ACP_ERR_STALE, "", team),
            ACP_REFUSED(acp_broadcast_team, ACP_ERR_STALE, "", team, buf, 8, 0),
            ACP_REFUSED(acp_allreduce_team, ACP_ERR_STALE, "", team, buf, buf + 1, 1, ACP_UINT64,
                        ACP_SUM),
            ACP_REFUSED(acp_gather_team, ACP_ERR_STALE, "", team, buf, 8, buf + 1, 0),
            ACP_REFUSED(acp_allgather_team, ACP_ERR_STALE, "", team, buf, 8, buf + 1),
            ACP_REFUSED(acp_scatter_team, ACP_ERR_STALE, "", team, buf, 8, buf + 1, 0),
            ACP_REFUSED(acp_alltoall_team, ACP_ERR_STALE, "", team, buf, 8, buf + 1),
            ACP_REFUSED(acp_scan_team, ACP_ERR_STALE, "", team, buf, buf + 1, 1, ACP_UINT64,
                        ACP_SUM),
            ACP_REFUSED(acp_exscan_team, ACP_ERR_STALE, "", team, buf, buf + 1, 1, ACP_UINT64,
                        ACP_SUM),
            ACP_REFUSED(acp_nbsync_team, ACP_ERR_STALE, "", team),
            ACP_REFUSED(acp_nbbroadcast_team, ACP_ERR_STALE, "", team, buf, 8, 0),
            ACP_REFUSED_BY_0(acp_malloc_team, ACP_ERR_STALE, "", team, 8),
            ACP_REFUSED_BY_0(acp_query_team_ga, ACP_ERR_STALE, "", team, starter_, 0),
            ACP_REFUSED(acp_free_team_memory, ACP_ERR_STALE, "", team, starter_),
            ACP_REFUSED(acp_test_team, ACP_ERR_STALE, "", foreign<acp_team_request_t>(number)),
            ACP_REFUSED(acp_wait_team, ACP_ERR_STALE, "", foreign<acp_team_request_t>(number)),
        });
        EXPECT_EQ(memory, (std::array<std::uint64_t, 4>{}));
    }
}

TEST_F(RefusedTogether, ranks_roots_lists_and_elements_of_the_team_of_all) {
    const acp_team_t team = acp_world_team();
    ASSERT_NE(team, ACP_TEAM_NULL);
    std::array<std::uint64_t, 4> memory{1, 2, 3, 4};
    std::uint64_t* const buf = memory.data();
    const std::array<int, 2> twice{0, 0};
    const std::array<int, 1> beyond{1}, before{-1}, own{0};
    const int *const twice_list = twice.data(), *const beyond_list = beyond.data(),
                     *const before_list = before.data(), *const own_list = own.data();
    const auto combine = [](void*, const void*, std::size_t, void*) {};
    const acp_combine_t function = combine;
    const std::vector<RefusedCall> rows{
        ACP_REFUSED(acp_create_team, ACP_ERR_ARGUMENT, "NULL", team, nullptr, 1),
        ACP_REFUSED(acp_create_team, ACP_ERR_ARGUMENT, "0 ranks", team, own_list, 0),
        ACP_REFUSED(acp_create_team, ACP_ERR_ARGUMENT, "-1 ranks", team, own_list, -1),
        ACP_REFUSED(acp_create_team, ACP_ERR_ARGUMENT, "2 ranks", team, twice_list, 2),
        ACP_REFUSED(acp_create_team, ACP_ERR_ARGUMENT, "2147483647", team, own_list, int_max),
        ACP_REFUSED(acp_create_team, ACP_ERR_ARGUMENT, "rank 1", team, beyond_list, 1),
        ACP_REFUSED(acp_create_team, ACP_ERR_ARGUMENT, "rank -1", team, before_list, 1),
        ACP_REFUSED(acp_free_team, ACP_ERR_ARGUMENT, "", team),
        ACP_REFUSED(acp_translate_team_rank, ACP_ERR_ARGUMENT, "1", team, 1, team),
        ACP_REFUSED(acp_translate_team_rank, ACP_ERR_ARGUMENT, "-1", team, -1, team),
        ACP_REFUSED(acp_allgather_team, ACP_ERR_ARGUMENT, "send is NULL", team, nullptr, 8, buf),
        ACP_REFUSED(acp_allgather_team, ACP_ERR_ARGUMENT, "recv is NULL", team, buf, 8, nullptr),
        ACP_REFUSED(acp_allgather_team, ACP_ERR_ARGUMENT, "18446744073709551615", team, buf, all,
                    buf),
        ACP_REFUSED(acp_alltoall_team, ACP_ERR_ARGUMENT, "send is NULL", team, nullptr, 8, buf),
        ACP_REFUSED(acp_alltoall_team, ACP_ERR_ARGUMENT, "2305843009213693952", team, buf,
                    std::uint64_t{1} << 61, buf + 1),
        ACP_REFUSED(acp_allreduce_team, ACP_ERR_ARGUMENT, "no type 99", team, buf, buf + 1, 1, 99,
                    ACP_SUM),
        ACP_REFUSED(acp_allreduce_team, ACP_ERR_ARGUMENT, "no operation -7", team, buf, buf + 1, 1,
                    ACP_UINT64, -7),
        ACP_REFUSED(acp_allreduce_team, ACP_ERR_ARGUMENT, "swapped", team, buf, buf + 1, 1, ACP_SUM,
                    ACP_UINT64),
        ACP_REFUSED(acp_allreduce_team, ACP_ERR_ARGUMENT, "NULL", team, nullptr, buf, 1, ACP_UINT64,
                    ACP_SUM),
        ACP_REFUSED(acp_allreduce_team, ACP_ERR_ARGUMENT, "NULL", team, buf, nullptr, 1, ACP_UINT64,
                    ACP_SUM),
        ACP_REFUSED(acp_allreduce_team, ACP_ERR_ARGUMENT, "2305843009213693952 times 8", team, buf,
                    buf + 1, std::uint64_t{1} << 61, ACP_UINT64, ACP_SUM),
        ACP_REFUSED(acp_allreduce_by_team, ACP_ERR_ARGUMENT, "combine is NULL", team, buf, buf + 1,
                    1, 8, nullptr, nullptr),
        ACP_REFUSED(acp_allreduce_by_team, ACP_ERR_ARGUMENT, "0 bytes", team, buf, buf + 1, 1, 0,
                    function, nullptr),
        ACP_REFUSED(acp_allreduce_by_team, ACP_ERR_LIMIT, "18446744073709551615", team, buf,
                    buf + 1, 1, all, function, nullptr),
        ACP_REFUSED(acp_scan_team, ACP_ERR_ARGUMENT, "no type 0", team, buf, buf + 1, 1, 0,
                    ACP_SUM),
        ACP_REFUSED(acp_exscan_team, ACP_ERR_ARGUMENT, "no type 0", team, buf, buf + 1, 1, 0,
                    ACP_SUM),
        ACP_REFUSED_BY_0(acp_malloc_team, ACP_ERR_ARGUMENT, "18446744073709551615", team, all),
        ACP_REFUSED_BY_0(acp_malloc_team, ACP_ERR_MEMORY, "", team, std::uint64_t{1} << 40),
        ACP_REFUSED_BY_0(acp_query_team_ga, ACP_ERR_ARGUMENT, "", team, starter_, 0),
        ACP_REFUSED(acp_free_team_memory, ACP_ERR_ARGUMENT, "", team, starter_),
        ACP_REFUSED(acp_alltoallv_team, ACP_ERR_ARGUMENT, "", team, buf, nullptr, nullptr, buf + 1,
                    nullptr, nullptr),
    };
    expect_all(rows);
    for (const int root : {1, -1, int_min, int_max}) {
        SCOPED_TRACE(root);
        const std::string named = "root " + std::to_string(root) + " ";
        const char* const value = named.c_str();
        expect_all({
            ACP_REFUSED(acp_broadcast_team, ACP_ERR_ARGUMENT, value, team, buf, 8, root),
            ACP_REFUSED(acp_reduce_team, ACP_ERR_ARGUMENT, value, team, buf, buf + 1, 1, ACP_UINT64,
                        ACP_SUM, root),
            ACP_REFUSED(acp_gather_team, ACP_ERR_ARGUMENT, value, team, buf, 8, buf + 1, root),
            ACP_REFUSED(acp_scatter_team, ACP_ERR_ARGUMENT, value, team, buf, 8, buf + 1, root),
            ACP_REFUSED(acp_nbbroadcast_team, ACP_ERR_ARGUMENT, value, team, buf, 8, root),
            ACP_REFUSED(acp_nbgather_team, ACP_ERR_ARGUMENT, value, team, buf, 8, buf + 1, root),
        });
    }
    EXPECT_EQ(memory, (std::array<std::uint64_t, 4>{1, 2, 3, 4}));
    // A refused call began nothing: the next ones work.
    EXPECT_EQ(acp_allreduce_team(team, buf, buf + 1, 1, ACP_UINT64, ACP_SUM), 0);
    EXPECT_EQ(memory[1], 1U);
    EXPECT_EQ(acp_sync_team(team), 0);
}

TEST_F(RefusedTogether, notices_of_a_barrier) {
    const acp_team_t team = acp_world_team();
    std::array<char, ACP_NOTICE_BYTES + 1> notice{};
    std::array<char, ACP_NOTICE_BYTES> notices{};
    std::size_t size = 77;
    char* const from = notice.data();
    char* const to = notices.data();
    std::size_t* const sizes = &size;
    expect_all({
        ACP_REFUSED(acp_sync_team_notices, ACP_ERR_LIMIT, "1025", team, from, ACP_NOTICE_BYTES + 1,
                    to, sizes),
        ACP_REFUSED(acp_sync_team_notices, ACP_ERR_LIMIT, "18446744073709551615", team, from, all,
                    to, sizes),
        ACP_REFUSED(acp_sync_team_notices, ACP_ERR_ARGUMENT, "NULL", team, nullptr, 1, to, sizes),
        ACP_REFUSED(acp_sync_team_notices, ACP_ERR_ARGUMENT, "NULL", team, from, 1, nullptr, sizes),
        ACP_REFUSED(acp_sync_team_notices, ACP_ERR_ARGUMENT, "NULL", team, from, 1, to, nullptr),
    });
    EXPECT_EQ(size, 77U);
    notice.fill('n');
    EXPECT_EQ(acp_sync_team_notices(team, from, ACP_NOTICE_BYTES, to, sizes), 0);
    EXPECT_EQ(size, std::size_t{ACP_NOTICE_BYTES});
    EXPECT_EQ(notices.back(), 'n');
}

TEST_F(RefusedTogether, channels_and_requests_that_are_none) {
    char buf[8] = "1234567";
    char* const data = buf;
    std::size_t size = 77;
    std::size_t* const sizes = &size;
    expect_all({
        ACP_REFUSED(acp_create_ch, ACP_ERR_ARGUMENT, "1", 0, 1),
        ACP_REFUSED(acp_create_ch, ACP_ERR_ARGUMENT, "-1", -1, 0),
        ACP_REFUSED(acp_create_ch, ACP_ERR_ARGUMENT, "2147483647", int_max, 0),
        ACP_REFUSED(acp_waitall_ch, ACP_ERR_ARGUMENT, "NULL", nullptr, 1, sizes),
    });
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, all}) {
        const auto ch = foreign<acp_ch_t>(number);
        const auto request = foreign<acp_request_t>(number);
        expect_all({
            ACP_REFUSED(acp_nbsend_ch, ACP_ERR_STALE, "", ch, data, 8),
            ACP_REFUSED(acp_nbrecv_ch, ACP_ERR_STALE, "", ch, data, 8),
            ACP_REFUSED(acp_nbfree_ch, ACP_ERR_STALE, "", ch),
            ACP_REFUSED(acp_send_ch, ACP_ERR_STALE, "", ch, data, 8),
            ACP_REFUSED(acp_recv_ch, ACP_ERR_STALE, "", ch, data, 8),
            ACP_REFUSED(acp_free_ch, ACP_ERR_STALE, "", ch),
            ACP_REFUSED(acp_wait_ch, ACP_ERR_STALE, "", request),
            ACP_REFUSED(acp_test_ch, ACP_ERR_STALE, "", request, sizes),
        });
    }
    EXPECT_EQ(size, 77U);
    EXPECT_STREQ(buf, "1234567");
}

TEST_F(RefusedTogether, segmented_buffers_that_are_none) {
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, all}) {
        SCOPED_TRACE(number);
        const auto none = foreign<acp_segbuf_t>(number);
        expect_all({
            ACP_REFUSED(acp_connect_segbuf, ACP_ERR_STALE, "", none),
            ACP_REFUSED(acp_isconnected_segbuf, ACP_ERR_STALE, "", none),
            ACP_REFUSED(acp_ready_segbuf, ACP_ERR_STALE, "", none),
            ACP_REFUSED(acp_ack_segbuf, ACP_ERR_STALE, "", none),
            ACP_REFUSED(acp_isready_segbuf, ACP_ERR_STALE, "", none),
            ACP_REFUSED(acp_isacked_segbuf, ACP_ERR_STALE, "", none),
            ACP_REFUSED(acp_query_segbuf_head, ACP_ERR_STALE, "", none),
            ACP_REFUSED(acp_query_segbuf_tail, ACP_ERR_STALE, "", none),
            ACP_REFUSED(acp_query_segbuf_sent, ACP_ERR_STALE, "", none),
            ACP_REFUSED(acp_disconnect_segbuf, ACP_ERR_STALE, "", none),
            ACP_REFUSED(acp_free_segbuf, ACP_ERR_STALE, "", none),
        });
    }
}

TEST_F(RefusedTogether, ranks_of_segmented_buffers) {
    std::array<char, 256> memory{};
    char* const buf = memory.data();
    for (const int rank : {-1, 1, int_min, int_max}) {
        const std::string text = std::to_string(rank);
        const char* const value = text.c_str();
        expect_all({
            ACP_REFUSED(acp_create_src_segbuf, ACP_ERR_ARGUMENT, value, rank, buf, 64, 4),
            ACP_REFUSED(acp_create_dst_segbuf, ACP_ERR_ARGUMENT, value, rank, buf, 64, 4),
        });
    }
    expect_all({
        ACP_REFUSED(acp_create_src_segbuf, ACP_ERR_ARGUMENT, "the calling one", 0, buf, 64, 4),
        ACP_REFUSED(acp_create_dst_segbuf, ACP_ERR_ARGUMENT, "the calling one", 0, buf, 64, 4),
    });
    for (const char byte : memory) ASSERT_EQ(byte, 0);
}

TEST_F(RefusedTogether, contexts_of_messages) {
    const acp_pm_t pm = acp_open_pm(0);
    ASSERT_NE(pm, ACP_PM_NULL) << acp_error_message();
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    void* buffer = &buffer;
    void** const out = &buffer;
    const void* data = nullptr;
    const void** const found = &data;
    std::size_t size = 77;
    std::size_t* const bytes = &size;
    acp_ga_t first = 77;
    acp_ga_t* const address = &first;
    expect_all({
        ACP_REFUSED(acp_open_pm, ACP_ERR_ARGUMENT, "-1", -1),
        ACP_REFUSED(acp_open_pm, ACP_ERR_ARGUMENT, "2147483647", int_max),
        ACP_REFUSED(acp_open_pm, ACP_ERR_STATE, "", 0),
        ACP_REFUSED(acp_get_buffer_pm, ACP_ERR_ARGUMENT, "rank 1", pm, 1, 8, out),
        ACP_REFUSED(acp_get_buffer_pm, ACP_ERR_ARGUMENT, "rank -1", pm, -1, 8, out),
        ACP_REFUSED(acp_get_buffer_pm, ACP_ERR_ARGUMENT, "buffer is NULL", pm, 0, 8, nullptr),
        ACP_REFUSED(acp_get_buffer_pm, ACP_ERR_ARGUMENT, "18446744073709551615", pm, 0, all, out),
        ACP_REFUSED(acp_wait_buffer_pm, ACP_ERR_ARGUMENT, "rank 9", pm, 9, 8, out, 0),
        ACP_REFUSED(acp_truncate_pm, ACP_ERR_STATE, "no message", pm, 0),
        ACP_REFUSED(acp_send_pm, ACP_ERR_STATE, "no message", pm),
        ACP_REFUSED(acp_release_pm, ACP_ERR_STATE, "no message", pm),
        ACP_REFUSED(acp_receive_pm, ACP_ERR_ARGUMENT, "data is NULL", pm, nullptr, bytes, nullptr),
        ACP_REFUSED(acp_before_select_pm, ACP_ERR_ARGUMENT, "descriptor is NULL", pm, nullptr),
        ACP_REFUSED(acp_lock_pm, ACP_ERR_ARGUMENT, "first is NULL", pm, out, 8, nullptr),
        ACP_REFUSED(acp_lock_pm, ACP_ERR_ARGUMENT, "", pm, nullptr, 8, address),
        ACP_REFUSED(acp_lock_pm, ACP_ERR_ARGUMENT, "", pm, out, 0, address),
        ACP_REFUSED(acp_lock_pm, ACP_ERR_ARGUMENT, "", pm, out, all, address),
        ACP_REFUSED(acp_unlock_pm, ACP_ERR_STALE, "", pm, ACP_GA_NULL),
    });
    EXPECT_EQ(buffer, static_cast<void*>(&buffer));
    EXPECT_EQ(first, 77U);
    // The context works as before.
    ASSERT_EQ(acp_get_buffer_pm(pm, 0, 8, out), 1) << acp_error_message();
    expect_refused(ACP_REFUSED(acp_get_buffer_pm, ACP_ERR_STATE, "send it first", pm, 0, 8, out));
    expect_refused(ACP_REFUSED(acp_truncate_pm, ACP_ERR_ARGUMENT, "size 9", pm, 9));
    ASSERT_EQ(acp_send_pm(pm), 0);
    ASSERT_EQ(acp_receive_pm(pm, found, bytes, nullptr), 1) << acp_error_message();
    EXPECT_EQ(size, 8U);
    expect_refused(
        ACP_REFUSED(acp_receive_pm, ACP_ERR_STATE, "release it first", pm, found, bytes, nullptr));
    ASSERT_EQ(acp_release_pm(pm), 0);
    ASSERT_EQ(acp_close_pm(pm), 0);
    for (const acp_pm_t none : {pm, ACP_PM_NULL, foreign<acp_pm_t>(1), foreign<acp_pm_t>(all)}) {
        expect_refused(ACP_REFUSED(acp_close_pm, ACP_ERR_STALE, "", none));
        expect_refused(ACP_REFUSED(acp_send_pm, ACP_ERR_STALE, "", none));
        expect_refused(ACP_REFUSED(acp_wait_pm, ACP_ERR_STALE, "", none, 0));
        expect_refused(ACP_REFUSED(acp_test_sent_pm, ACP_ERR_STALE, "", none));
    }
}

TEST_F(RefusedTogether, patterns_and_plans) {
    const acp_pattern_t pattern = acp_create_pattern(acp_world_team());
    ASSERT_NE(pattern, ACP_PATTERN_NULL) << acp_error_message();
    std::array<char, 64> memory{};
    char* const at = memory.data();
    const std::array<int, 1> one{1};
    const std::array<std::size_t, 1> eight{8}, zero{0};
    acp_grid_t grid{0, one.data(), nullptr, eight.data(), zero.data(), 8, 1};
    acp_grid_t many = grid;
    many.dimensions = 9;
    acp_grid_t without = grid;
    without.dimensions = 1;
    without.members = nullptr;
    const acp_grid_t *const none_grid = &grid, *const many_grid = &many,
                            *const null_grid = &without;
    acp_neighbours_t list{-1, one.data(), eight.data(), zero.data()};
    acp_neighbours_t nulls{1, nullptr, eight.data(), zero.data()};
    acp_neighbours_t empty{0, nullptr, nullptr, nullptr};
    const acp_neighbours_t *const negative = &list, *const null_list = &nulls,
                                  *const no_list = &empty;
    expect_all({
        ACP_REFUSED(acp_create_pattern, ACP_ERR_STALE, "", ACP_TEAM_NULL),
        ACP_REFUSED(acp_add_send_pattern, ACP_ERR_ARGUMENT, "shift 1 ", pattern, 1, at, 8),
        ACP_REFUSED(acp_add_recv_pattern, ACP_ERR_ARGUMENT, "shift -1 ", pattern, -1, at, 8),
        ACP_REFUSED(acp_add_send_pattern, ACP_ERR_ARGUMENT, "source is NULL", pattern, 0, nullptr,
                    8),
        ACP_REFUSED(acp_add_recv_pattern, ACP_ERR_ARGUMENT, "18446744073709551615", pattern, 0, at,
                    all),
        ACP_REFUSED(acp_add_copy_pattern, ACP_ERR_ADDRESS, "", pattern, ACP_GA_NULL, at, 8),
        ACP_REFUSED(acp_add_copy_pattern, ACP_ERR_ADDRESS, "", pattern, starter_end_, at, 8),
        ACP_REFUSED(acp_add_halo_pattern, ACP_ERR_ARGUMENT, "NULL", pattern, at, nullptr),
        ACP_REFUSED(acp_add_halo_pattern, ACP_ERR_ARGUMENT, "0", pattern, at, none_grid),
        ACP_REFUSED(acp_add_halo_pattern, ACP_ERR_ARGUMENT, "9", pattern, at, many_grid),
        ACP_REFUSED(acp_add_halo_pattern, ACP_ERR_ARGUMENT, "NULL", pattern, at, null_grid),
        ACP_REFUSED(acp_add_alltoallv_pattern, ACP_ERR_ARGUMENT, "", pattern, at, nullptr, at,
                    no_list),
        ACP_REFUSED(acp_add_alltoallv_pattern, ACP_ERR_ARGUMENT, "-1", pattern, at, negative, at,
                    no_list),
        ACP_REFUSED(acp_add_alltoallv_pattern, ACP_ERR_ARGUMENT, "NULL", pattern, at, null_list, at,
                    no_list),
        ACP_REFUSED(acp_compile_pattern, ACP_ERR_ARGUMENT, "network", pattern, "no network"),
        ACP_REFUSED(acp_load_plan, ACP_ERR_ARGUMENT, "NULL", pattern, nullptr),
        ACP_REFUSED(acp_load_plan, ACP_ERR_SYSTEM, "/nowhere/plan", pattern, "/nowhere/plan"),
    });
    const acp_plan_t plan = acp_compile_pattern(pattern, nullptr);
    ASSERT_NE(plan, ACP_PLAN_NULL) << "a refused call has added a message: " << acp_error_message();
    ASSERT_EQ(acp_heap_stat(0, &before_), 0);
    expect_all({
        ACP_REFUSED(acp_save_plan, ACP_ERR_ARGUMENT, "NULL", plan, nullptr),
        ACP_REFUSED(acp_save_plan, ACP_ERR_SYSTEM, "/nowhere/plan", plan, "/nowhere/plan"),
        ACP_REFUSED(acp_explain_plan, ACP_ERR_ARGUMENT, "size is 8", plan, nullptr, 8),
        ACP_REFUSED(acp_wait_plan, ACP_ERR_STATE, "", plan),
        ACP_REFUSED(acp_test_plan, ACP_ERR_STATE, "", plan),
    });
    EXPECT_EQ(acp_start_plan(plan), 0);
    EXPECT_EQ(acp_wait_plan(plan), 0);
    EXPECT_EQ(acp_free_plan(plan), 0);
    EXPECT_EQ(acp_free_pattern(pattern), 0);
    for (const acp_plan_t none : {plan, ACP_PLAN_NULL, foreign<acp_plan_t>(all)}) {
        expect_refused(ACP_REFUSED(acp_start_plan, ACP_ERR_STALE, "", none));
        expect_refused(ACP_REFUSED(acp_free_plan, ACP_ERR_STALE, "", none));
    }
    expect_refused(ACP_REFUSED(acp_free_pattern, ACP_ERR_STALE, "", pattern));
    expect_refused(ACP_REFUSED(acp_compile_pattern, ACP_ERR_STALE, "", pattern, nullptr));
}

TEST_F(RefusedTogether, shared_pages_without_a_window_and_with_a_wrong_size) {
    acp_stats_dsm_t stats{};
    acp_stats_dsm_t* const out = &stats;
    const void* const own = out;
    expect_all({
        ACP_REFUSED(acp_alloc_dsm, ACP_ERR_STATE, "acp_init_dsm", 8),
        ACP_REFUSED(acp_free_dsm, ACP_ERR_STATE, "acp_init_dsm", out),
        ACP_REFUSED(acp_barrier_dsm, ACP_ERR_STATE, "acp_init_dsm"),
        ACP_REFUSED(acp_finalize_dsm, ACP_ERR_STATE, "acp_init_dsm"),
        ACP_REFUSED_BY_0(acp_query_ga_dsm, ACP_ERR_STATE, "acp_init_dsm", own),
        ACP_REFUSED(acp_query_stats_dsm, ACP_ERR_STATE, "acp_init_dsm", out, sizeof stats),
        ACP_REFUSED(acp_alloc_home_dsm, ACP_ERR_STATE, "acp_init_dsm", 8, ACP_HOME_BLOCK, 0),
        ACP_REFUSED(acp_set_home_dsm, ACP_ERR_STATE, "acp_init_dsm", own, 8, 0),
        ACP_REFUSED(acp_init_dsm, ACP_ERR_ARGUMENT, "0 bytes", 0),
        ACP_REFUSED(acp_init_dsm, ACP_ERR_ARGUMENT, "18446744073709551615 bytes", all),
    });
}

TEST_F(RefusedTogether, workspaces_that_are_none_or_have_no_room) {
    for (const std::uint64_t number : {all, all - 7, std::uint64_t{0}, std::uint64_t{1} << 40}) {
        const auto workspace = foreign<acp_wsd_t>(number);
        expect_all({
            ACP_REFUSED(acp_read_ws, ACP_ERR_STALE, "", workspace, starter_, 8, 0),
            ACP_REFUSED(acp_write_ws, ACP_ERR_STALE, "", workspace, starter_, 8, 0),
            ACP_REFUSED(acp_destroy_ws, ACP_ERR_STALE, "", workspace),
        });
    }
    for (const std::size_t size : {all, all / 2, std::size_t{1} << 40}) {
        acp_clear_errno();
        EXPECT_EQ(acp_create_ws(size), ACP_WSD_NULL) << size;
        EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
        expect_unchanged();
    }
}

}  // namespace
}  // namespace acp::api::test
