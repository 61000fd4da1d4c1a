// SPDX-License-Identifier: BSD-3-Clause
// Copies into shared pages while another rank of the node is in the barrier already.
#include <cstdint>
#include <gtest/gtest.h>
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

}  // namespace
}  // namespace acp::test
