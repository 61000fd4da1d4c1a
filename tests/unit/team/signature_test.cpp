// SPDX-License-Identifier: BSD-3-Clause
// Signatures of calls differ in each argument that members must agree on, and name the call in
// messages.
#include "team/signature.hpp"

#include <gtest/gtest.h>
#include <vector>

#include <acp/team.h>

namespace acp::team {
namespace {

TEST(Signature, differs_where_anything_that_must_agree_differs) {
    const std::vector<Signature> all{{CollectiveCall::reduce, 8, 0, {ACP_INT32, ACP_SUM}},
                                     {CollectiveCall::reduce, 16, 0, {ACP_INT32, ACP_SUM}},
                                     {CollectiveCall::reduce, 8, 1, {ACP_INT32, ACP_SUM}},
                                     {CollectiveCall::reduce, 8, 0, {ACP_UINT32, ACP_SUM}},
                                     {CollectiveCall::reduce, 8, 0, {ACP_INT32, ACP_MAX}},
                                     {CollectiveCall::allreduce, 8, 0, {ACP_INT32, ACP_SUM}},
                                     {CollectiveCall::reduce, 8, 65536, {ACP_INT32, ACP_SUM}},
                                     {CollectiveCall::sync, 0}};
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < all.size(); ++j)
            EXPECT_EQ(all[i] == all[j], i == j) << i << " and " << j;
    }
}

TEST(Signature, keeps_what_it_was_made_of) {
    const Signature signature(CollectiveCall::reduce, 80, 70'000, {ACP_DOUBLE, ACP_MIN});
    EXPECT_EQ(signature.call(), CollectiveCall::reduce);
    EXPECT_EQ(signature.root(), 70'000U);
    EXPECT_EQ(signature.combination(), (Combination{ACP_DOUBLE, ACP_MIN}));
}

TEST(Signature, of_a_call_that_does_not_block_is_that_of_the_blocking_one_but_for_its_name) {
    const Signature sync(CollectiveCall::sync, 0);
    EXPECT_EQ(sync, sync.non_blocking());
    EXPECT_EQ(sync.non_blocking().call(), CollectiveCall::sync);
    EXPECT_FALSE(sync.is_non_blocking());
    EXPECT_EQ(describe(sync.non_blocking()), "acp_nbsync_team");
    const Signature reduce(CollectiveCall::reduce, 80, 70'000, {ACP_DOUBLE, ACP_MIN});
    EXPECT_EQ(reduce.non_blocking().root(), 70'000U);
    EXPECT_EQ(reduce.non_blocking().combination(), reduce.combination());
    EXPECT_NE(reduce.non_blocking(), sync.non_blocking());
}

TEST(Signature, of_a_barrier_with_a_timeout_is_that_of_the_barrier_but_for_its_name) {
    const Signature sync(CollectiveCall::sync, 0);
    EXPECT_EQ(sync, sync.with_timeout());
    EXPECT_FALSE(sync.has_timeout());
    EXPECT_TRUE(sync.with_timeout().has_timeout());
    EXPECT_FALSE(sync.with_timeout().is_non_blocking());
    EXPECT_EQ(describe(sync.with_timeout()), "acp_sync_team_timeout");
}

TEST(Signature, describes_the_call_of_the_program) {
    EXPECT_EQ(describe({CollectiveCall::reduce, 80, 2, {ACP_INT64, ACP_SUM}}),
              "acp_reduce_team of 80 bytes (int64, sum) to member 2");
    EXPECT_EQ(describe({CollectiveCall::allreduce, 80, 0, {}}),
              "acp_allreduce_team of 80 bytes (own elements, own function)");
    EXPECT_EQ(describe({CollectiveCall::broadcast, 5, 1}),
              "acp_broadcast_team of 5 bytes from member 1");
    EXPECT_EQ(describe({CollectiveCall::sync, 0}), "acp_sync_team");
    EXPECT_EQ(describe({CollectiveCall::free, 0}), "acp_free_team");
    EXPECT_EQ(describe({CollectiveCall::sync_notices, 0}), "acp_sync_team_notices");
    EXPECT_EQ(describe({CollectiveCall::malloc, 100}), "acp_malloc_team of 100 bytes");
    EXPECT_EQ(describe({CollectiveCall::free_memory, 3}),
              "acp_free_team_memory of the team's 4th allocation by acp_malloc_team");
    EXPECT_EQ(describe({CollectiveCall::compile_pattern, 0}), "acp_compile_pattern");
    EXPECT_EQ(describe({CollectiveCall::alloc_pages, 8192}), "acp_alloc_dsm of 8192 bytes");
    EXPECT_EQ(describe({CollectiveCall::free_pages, 7}),
              "acp_free_dsm of the allocation at shared page 7");
    EXPECT_EQ(describe({CollectiveCall::barrier_pages, 0}), "acp_barrier_dsm");
    EXPECT_EQ(describe({CollectiveCall::alloc_home_pages, 8192, 3, {2, 0}}),
              "acp_alloc_home_dsm of 8192 bytes by policy 2 with argument 3");
    EXPECT_EQ(describe({CollectiveCall::set_home_pages, std::uint64_t{5} << 32 | 7, 1}),
              "acp_set_home_dsm of 5 pages from shared page 7 on to rank 1");
    EXPECT_EQ(describe(Signature::of_binding(4096, 24, 7)),
              "acp_bind_dsm of 24 bytes from byte 4096 of the shared pages on");
    EXPECT_EQ(describe(Signature::of_binding(std::uint64_t{1} << 43, std::uint64_t{1} << 43, 7)),
              "acp_bind_dsm of 8796093022208 bytes from byte 8796093022208 of the shared pages on");
    EXPECT_NE(Signature::of_binding(0, 8, 64).what, Signature::of_binding(0, 8, 128).what);
    EXPECT_EQ(describe({CollectiveCall::free_plan, 1}), "acp_free_plan of the team's 1st plan");
    EXPECT_EQ(describe({CollectiveCall::free_plan, 11}), "acp_free_plan of the team's 11th plan");
    EXPECT_EQ(describe({CollectiveCall::free_plan, 22}), "acp_free_plan of the team's 22nd plan");
    EXPECT_EQ(describe({CollectiveCall::free_plan, 103}), "acp_free_plan of the team's 103rd plan");
    Signature wild;
    wild.what = 0xff;
    EXPECT_EQ(describe(wild), "an unknown call of 0 bytes");
}

}  // namespace
}  // namespace acp::team
