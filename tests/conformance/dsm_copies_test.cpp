// SPDX-License-Identifier: BSD-3-Clause
// Copies into shared pages while another rank of the node is in the barrier already, and forks and resets
// between such a copy and the flush of its bytes.
#include <cstdint>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "conformance/dsm_fixture.hpp"

namespace acp::test {
namespace {

// The last rank gets bytes of rank 0 into pages whose home is that of rank 0. The rank before it, on
// the same node, has entered the barrier, and sends the writes of its node to the homes.
TEST_F(DsmTest, bytes_that_a_copy_writes_while_another_rank_is_in_the_barrier_reach_all_ranks) {
    if (procs_ < 3) GTEST_SKIP() << "no two ranks are on the node of the last one";
    constexpr std::size_t bytes = 48 * page;
    constexpr std::size_t count = bytes / sizeof(std::uint64_t);
    constexpr std::uint64_t rounds = 30;
    auto* const numbers = static_cast<std::uint64_t*>(acp_alloc_home_dsm(bytes, ACP_HOME_RANK, 0));
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    const int copier = procs_ - 1;
    const acp_ga_t begun = acp_query_starter_ga(copier - 1);
    if (rank_ == copier - 1) *static_cast<std::uint64_t*>(acp_query_address(begun)) = 0;
    ASSERT_EQ(acp_sync(), 0) << acp_error_message();
    const acp_ga_t source = rank_ == copier ? acp_malloc(bytes, 0) : ACP_GA_NULL;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        if (rank_ == copier) {
            const std::vector<std::uint64_t> values(count, round);
            acp_complete(acp_put(source, values.data(), bytes, ACP_HANDLE_NULL));
            const acp_handle_t copy = acp_get(numbers, source, bytes, ACP_HANDLE_NULL);
            acp_complete(acp_put(begun, &round, sizeof round, ACP_HANDLE_NULL));
            acp_complete(copy);
        } else if (rank_ == copier - 1) {
            ASSERT_EQ(acp_wait_word(acp_query_address(begun), 8, ACP_WORD_EQUAL, round, -1), 0)
                << acp_error_message();
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(numbers[i], round) << i;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
    if (rank_ == copier) acp_free(source);
}

// Makes a child, which ends at once.
void make_a_child() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

// A copy to the pages and one from them are in flight, and stores are not yet sent.
TEST_F(DsmTest, a_child_that_is_made_between_a_copy_and_its_flush_takes_no_byte_along) {
    constexpr std::size_t bytes = 24 * page;
    constexpr std::size_t count = bytes / sizeof(std::uint64_t);
    auto* const numbers =
        static_cast<std::uint64_t*>(acp_alloc_home_dsm(2 * bytes, ACP_HOME_RANK, 0));
    ASSERT_NE(numbers, nullptr) << acp_error_message();
    const int copier = procs_ - 1;
    const acp_ga_t source = rank_ == copier ? acp_malloc(2 * bytes, 0) : ACP_GA_NULL;
    for (std::uint64_t round = 1; round <= 15; ++round) {
        if (rank_ == copier) {
            const std::vector<std::uint64_t> values(count, round);
            acp_complete(acp_put(source, values.data(), bytes, ACP_HANDLE_NULL));
            const acp_handle_t put =
                acp_put(source + bytes, numbers + count, bytes, ACP_HANDLE_NULL);
            const acp_handle_t get = acp_get(numbers, source, bytes, ACP_HANDLE_NULL);
            make_a_child();
            acp_complete(get);
            acp_complete(put);
            std::vector<std::uint64_t> sent(count);
            acp_complete(acp_get(sent.data(), source + bytes, bytes, ACP_HANDLE_NULL));
            ASSERT_EQ(sent, std::vector<std::uint64_t>(count, round - 1));
            for (std::size_t i = count; i < 2 * count; ++i) numbers[i] = round;
            make_a_child();
            ASSERT_EQ(acp_flush_dsm(numbers, 2 * bytes), 0) << acp_error_message();
            make_a_child();
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        for (std::size_t i = 0; i < 2 * count; ++i) ASSERT_EQ(numbers[i], round) << i;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
    if (rank_ == copier) acp_free(source);
}

using DsmCopiesResetTest = RankedTest;

TEST_F(DsmCopiesResetTest,
       a_reset_between_a_copy_and_its_flush_leaves_ranks_that_share_pages_again) {
    if (is_refused_here()) GTEST_SKIP() << acp_error_message();
    constexpr std::size_t bytes = 24 * page;
    constexpr std::size_t count = bytes / sizeof(std::uint64_t);
    for (std::uint64_t round = 1; round <= 8; ++round) {
        ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
        auto* const numbers = static_cast<std::uint64_t*>(acp_alloc_home_dsm(
            2 * bytes, ACP_HOME_RANK,
            static_cast<std::uint64_t>(round % 2 == 0) * static_cast<std::uint64_t>(procs_ - 1)));
        ASSERT_NE(numbers, nullptr) << acp_error_message();
        for (std::size_t i = 0; i < 2 * count; ++i) ASSERT_EQ(numbers[i], 0U) << i;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        const acp_ga_t source = acp_malloc(bytes, acp_rank());
        ASSERT_NE(source, ACP_GA_NULL) << acp_error_message();
        const std::vector<std::uint64_t> values(count, round);
        acp_complete(acp_put(source, values.data(), bytes, ACP_HANDLE_NULL));
        acp_complete(acp_get(numbers, source, bytes, ACP_HANDLE_NULL));
        const std::size_t own = count + static_cast<std::size_t>(acp_rank());
        for (std::size_t i = own; i < 2 * count; i += 512) numbers[i] = round;
        if (round % 4 < 2) {
            ASSERT_EQ(acp_flush_dsm(numbers, 2 * bytes), 0) << acp_error_message();
        }
        ASSERT_EQ(acp_reset((acp_rank() + 1) % procs_), 0) << acp_error_message();
    }
}

}  // namespace
}  // namespace acp::test
