// SPDX-License-Identifier: BSD-3-Clause
// Workspaces: reads return the bytes written, on whichever ranks the blocks lie; the blocks lie on
// the ranks that ACP 3.0 defines; misuse is reported on every rank.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <acp.h>

#include "support/heap_ranks.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

class WorkspaceTest : public HeapRankedTest {
protected:
    static std::size_t bytes_of(int rank) {
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(rank, &stat), 0) << acp_error_message();
        return stat.allocated;
    }
};

TEST_F(WorkspaceTest, what_one_rank_writes_another_reads_across_blocks) {
    constexpr std::size_t bytes = 10'000;
    for (const std::size_t block :
         {std::size_t{1}, std::size_t{64}, std::size_t{1'000}, std::size_t{100'000}}) {
        const std::size_t size = block == 1 ? 300 : bytes;
        ASSERT_EQ(acp_setparams_ws(static_cast<std::size_t>(procs_ - 1), block), 0);
        const acp_wsd_t workspace = acp_create_ws(size);
        ASSERT_NE(workspace, ACP_WSD_NULL) << acp_error_message();
        const acp_ga_t mine = acp_malloc(size, rank_);
        auto* memory = static_cast<unsigned char*>(acp_query_address(mine));
        // Each rank writes its share of the bytes, then reads all.
        const auto procs = static_cast<std::size_t>(procs_), rank = static_cast<std::size_t>(rank_);
        const std::size_t begin = size * rank / procs, end = size * (rank + 1) / procs;
        for (std::size_t i = begin; i < end; ++i) memory[i] = static_cast<unsigned char>(i * 13);
        EXPECT_EQ(acp_write_ws(workspace, mine + begin, end - begin, begin), 0)
            << acp_error_message();
        sync_ranks();
        Random random(rank + block);
        for (int i = 0; i < 20; ++i) {
            const std::size_t from = i == 0 ? 0 : random.below(size);
            const std::size_t count = i == 0 ? size : random.below(size - from + 1);
            std::fill(memory, memory + size, static_cast<unsigned char>(1));
            EXPECT_EQ(acp_read_ws(workspace, mine, count, from), 0) << acp_error_message();
            bool is_right = true;
            for (std::size_t k = 0; k < count; ++k) {
                is_right = is_right && memory[k] == static_cast<unsigned char>((from + k) * 13);
            }
            EXPECT_TRUE(is_right) << count << " bytes from " << from;
            EXPECT_TRUE(count == size || memory[count] == 1)
                << "an element beyond the requested size was written";
        }
        sync_ranks();
        EXPECT_EQ(acp_destroy_ws(workspace), 0) << acp_error_message();
        EXPECT_EQ(acp_free(mine), 0);
        sync_ranks();
    }
}

TEST_F(WorkspaceTest, blocks_begin_behind_those_of_the_last_one) {
    constexpr std::size_t block = 4'096;
    ASSERT_EQ(acp_setparams_ws(0, block), 0);
    // Workspaces of one block each: the first on rank 0, the second on the next rank.
    std::vector<acp_wsd_t> made;
    for (int turn = 0; turn <= procs_; ++turn) {
        sync_ranks();
        const int owner = turn % procs_;
        const std::size_t before = bytes_of(owner);
        sync_ranks();
        made.push_back(acp_create_ws(block / 2));
        EXPECT_NE(made.back(), ACP_WSD_NULL) << acp_error_message();
        EXPECT_GE(bytes_of(owner), before + block) << "turn " << turn;
        sync_ranks();
    }
    for (const acp_wsd_t workspace : made) EXPECT_EQ(acp_destroy_ws(workspace), 0);
    const acp_wsd_t none = acp_create_ws(0);
    EXPECT_NE(none, ACP_WSD_NULL);
    EXPECT_EQ(acp_read_ws(none, acp_query_starter_ga(0), 0, 0), 0);
    EXPECT_EQ(acp_destroy_ws(none), 0);
}

TEST_F(WorkspaceTest, failures_are_reported_once_by_their_own_call) {
    ASSERT_EQ(acp_setparams_ws(0, 512), 0);
    const acp_wsd_t workspace = acp_create_ws(5'000);
    ASSERT_NE(workspace, ACP_WSD_NULL);
    const acp_ga_t memory = acp_query_starter_ga(rank_);
    const acp_handle_t failed = acp_copy(ACP_GA_NULL, memory, 8, ACP_HANDLE_NULL);
    EXPECT_EQ(acp_read_ws(workspace, memory, 2'000, 0), 0) << acp_error_message();
    EXPECT_EQ(acp_read_ws(workspace, ACP_GA_NULL, 2'000, 0), -1) << "four blocks";
    EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_wait(failed, -1), ACP_ERR_ADDRESS) << "another call returned this failure";
    EXPECT_EQ(acp_wait(ACP_HANDLE_ALL, -1), ACP_OK) << acp_error_message();
    sync_ranks();
    EXPECT_EQ(acp_destroy_ws(workspace), 0);
}

TEST_F(WorkspaceTest, misuse_is_refused_and_changes_nothing) {
    EXPECT_EQ(acp_setparams_ws(static_cast<std::size_t>(procs_), 8), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    EXPECT_EQ(acp_setparams_ws(0, 0), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    ASSERT_EQ(acp_setparams_ws(0, 512), 0);
    const acp_wsd_t workspace = acp_create_ws(1'000);
    ASSERT_NE(workspace, ACP_WSD_NULL);
    const acp_ga_t memory = acp_query_starter_ga(rank_);
    for (const std::size_t offset :
         {std::size_t{991}, std::size_t{1'001}, std::numeric_limits<std::size_t>::max()}) {
        EXPECT_EQ(acp_read_ws(workspace, memory, 10, offset), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
    }
    EXPECT_EQ(acp_write_ws(workspace, memory, std::numeric_limits<std::size_t>::max(), 5), -1);
    EXPECT_EQ(acp_write_ws(workspace, ACP_GA_NULL, 10, 0), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS) << acp_error_message();
    const acp_ga_t end = memory + acp_starter_size();
    EXPECT_EQ(acp_write_ws(workspace, end - 600, 700, 300), -1)
        << "the second block's is not all there";
    EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
    EXPECT_NE(std::string(acp_error_message()).find("700 bytes at offset 300, from 0x"),
              std::string::npos)
        << acp_error_message();
    EXPECT_EQ(acp_read_ws(ACP_WSD_NULL, memory, 1, 0), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_STALE);
    sync_ranks();
    EXPECT_EQ(acp_destroy_ws(workspace), 0);
    EXPECT_EQ(acp_destroy_ws(workspace), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_STALE);
    EXPECT_EQ(acp_read_ws(workspace, memory, 1, 0), -1);
    const acp_wsd_t next = acp_create_ws(1'000);
    ASSERT_NE(next, ACP_WSD_NULL);
    EXPECT_EQ(acp_destroy_ws(workspace), -1) << "it is taken for the next one";
    EXPECT_EQ(acp_errno(), ACP_ERR_STALE);
    EXPECT_EQ(acp_destroy_ws(next), 0) << acp_error_message();
    // Sizes beyond the room in all heaps fail on every rank.
    for (const std::size_t size : {std::size_t{1} << 40, std::numeric_limits<std::size_t>::max()}) {
        EXPECT_EQ(acp_create_ws(size), ACP_WSD_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
    }
    if (procs_ > 1) {
        const auto expect_mismatch = [](std::size_t size, const std::vector<const char*>& parts) {
            EXPECT_EQ(acp_create_ws(size), ACP_WSD_NULL);
            EXPECT_EQ(acp_errno(), ACP_ERR_MISMATCH) << acp_error_message();
            const std::string message = acp_error_message();
            for (const char* part : parts)
                EXPECT_NE(message.find(part), std::string::npos) << message;
        };
        expect_mismatch(rank_ == 0 ? 100 : 200,
                        {"for 100 bytes in blocks of 512", "for 200 bytes in blocks of 512"});
        ASSERT_EQ(acp_setparams_ws(rank_ == 0 ? 0 : 1, 512), 0);
        expect_mismatch(100, {"from rank 0 on", "from rank 1 on"});
    }
    ASSERT_EQ(acp_setparams_ws(0, 512), 0);
    const acp_wsd_t again = acp_create_ws(100);
    EXPECT_NE(again, ACP_WSD_NULL) << acp_error_message();
    EXPECT_EQ(acp_destroy_ws(again), 0);
}

}  // namespace
}  // namespace acp::test
