// SPDX-License-Identifier: BSD-3-Clause
// A job without heaps (acprun --heap-size 0): every call that needs a heap is refused with the
// reason and changes nothing; all other calls, and the teams of one node, work as usual.
#include <cstddef>
#include <cstdint>
#include <string>

#include <acp.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

class NoHeapTest : public RankedTest {
protected:
    static void expect_refused(bool is_refused, const char* call) {
        EXPECT_TRUE(is_refused) << call;
        SCOPED_TRACE(call);
        expect_error(ACP_ERR_UNSUPPORTED, {"this job has no heaps"});
    }
};

TEST_F(NoHeapTest, gives_no_block_and_frees_none) {
    for (int owner = 0; owner < procs_; ++owner) {
        const acp_ga_t somewhere = acp_query_starter_ga(owner);
        const std::size_t sizes[] = {8, 8};
        acp_ga_t blocks[2] = {};
        acp_heap_stat_t stat{};
        expect_refused(acp_malloc(8, owner) == ACP_GA_NULL, "acp_malloc");
        expect_refused(acp_calloc(1, 8, owner) == ACP_GA_NULL, "acp_calloc");
        expect_refused(acp_aligned_alloc(64, 8, owner) == ACP_GA_NULL, "acp_aligned_alloc");
        expect_refused(acp_malloc_many(2, sizes, owner, blocks) == -1, "acp_malloc_many");
        expect_refused(acp_realloc(somewhere, 8) == ACP_GA_NULL, "acp_realloc");
        expect_refused(acp_free(somewhere) == -1, "acp_free");
        expect_refused(acp_free_many(1, &somewhere) == -1, "acp_free_many");
        expect_refused(acp_usable_size(somewhere) == SIZE_MAX, "acp_usable_size");
        expect_refused(acp_heap_stat(owner, &stat) == -1, "acp_heap_stat");
        expect_refused(acp_heap_check(owner) == -1, "acp_heap_check");
    }
    EXPECT_EQ(acp_free(ACP_GA_NULL), 0) << acp_error_message();
}

TEST_F(NoHeapTest, makes_no_container) {
    for (int owner = 0; owner < procs_; ++owner) {
        const int ranks[] = {owner};
        expect_refused(acp_create_map(1, ranks, 16, owner).ga == ACP_GA_NULL, "acp_create_map");
        expect_refused(acp_create_set(1, ranks, 16, owner).ga == ACP_GA_NULL, "acp_create_set");
        expect_refused(acp_create_list(owner).ga == ACP_GA_NULL, "acp_create_list");
        expect_refused(acp_create_vector(8, owner).ga == ACP_GA_NULL, "acp_create_vector");
        expect_refused(acp_create_deque(8, owner).ga == ACP_GA_NULL, "acp_create_deque");
    }
}

TEST_F(NoHeapTest, opens_no_channel_and_no_context_of_messages) {
    const int next = (rank_ + 1) % procs_;
    char buffer[64] = {};
    expect_refused(acp_create_ch(rank_, next) == ACP_CH_NULL, "acp_create_ch");
    expect_refused(acp_create_src_segbuf(next, buffer, 8, 8) == ACP_SEGBUF_NULL,
                   "acp_create_src_segbuf");
    expect_refused(acp_open_pm(0) == ACP_PM_NULL, "acp_open_pm");
}

TEST_F(NoHeapTest, moves_bytes_and_meets_as_ever) {
    auto* const words = static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(rank_)));
    words[0] = 100 + static_cast<std::uint64_t>(rank_);
    words[1] = 0;
    sync_ranks();
    const acp_ga_t next = acp_query_starter_ga((rank_ + 1) % procs_);
    const acp_handle_t moved = acp_copy(acp_query_starter_ga(rank_) + 16, next, 8, ACP_HANDLE_NULL);
    expect_done(acp_add8(ACP_GA_NULL, next + 8, 7, moved));
    sync_ranks();
    EXPECT_EQ(words[1], 7U);
    EXPECT_EQ(words[2], 100U + static_cast<std::uint64_t>((rank_ + 1) % procs_));
}

TEST_F(NoHeapTest, has_teams_on_one_node_and_refuses_them_over_several_with_the_reason) {
    const acp_team_t world = acp_world_team();
    ASSERT_NE(world, ACP_TEAM_NULL) << acp_error_message();
    expect_refused(acp_malloc_team(world, 8) == ACP_GA_NULL, "acp_malloc_team");
    bool is_one_node = true;
    for (int rank = 0; rank < procs_; ++rank) {
        is_one_node = is_one_node && acp_query_address(acp_query_starter_ga(rank)) != nullptr;
    }
    const std::int32_t mine = rank_;
    std::int32_t sum = -1;
    const int result = acp_allreduce_team(world, &mine, &sum, 1, ACP_INT32, ACP_SUM);
    if (is_one_node) {
        EXPECT_EQ(result, 0) << acp_error_message();
        EXPECT_EQ(sum, procs_ * (procs_ - 1) / 2);
    } else {
        expect_refused(result == -1, "acp_allreduce_team");
    }
}

}  // namespace
}  // namespace acp::test
