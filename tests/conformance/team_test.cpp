// SPDX-License-Identifier: BSD-3-Clause
// Teams have the members that colours, keys and lists select; every misuse is reported; freed
// memory is reclaimed; barriers with a timeout can be repeated. The results of calls are checked by
// team_model_test.cpp.
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/team_fixture.hpp"

namespace acp::test {
namespace {

TEST_F(TeamTest, colours_and_keys_select_the_members_of_teams) {
    const acp_team_t halves = acp_split_team(world_, rank_ % 2, -rank_);
    ASSERT_NE(halves, ACP_TEAM_NULL) << acp_error_message();
    const int members = (procs_ + 1 - rank_ % 2) / 2;
    EXPECT_EQ(acp_query_team_size(halves), members);
    EXPECT_EQ(acp_query_team_rank(halves), members - 1 - rank_ / 2);
    for (int member = 0; member < members; ++member) {
        const int rank = acp_translate_team_rank(halves, member, world_);
        EXPECT_EQ(rank, 2 * (members - 1 - member) + rank_ % 2);
        EXPECT_EQ(acp_translate_team_rank(world_, rank, halves), member);
    }
    if (procs_ > 1) {
        EXPECT_EQ(acp_translate_team_rank(world_, (rank_ + 1) % 2, halves), ACP_NONE);
    }
    // Equal keys keep the order of ranks; a team is made from a team.
    const acp_team_t same = acp_split_team(halves, 7, 1);
    ASSERT_NE(same, ACP_TEAM_NULL) << acp_error_message();
    EXPECT_EQ(acp_query_team_rank(same), acp_query_team_rank(halves));
    const acp_team_t some = acp_split_team(world_, rank_ == 0 ? 3 : -1, 0);
    EXPECT_NE(some, ACP_TEAM_NULL) << acp_error_message();
    EXPECT_EQ(some != ACP_TEAM_NONE, rank_ == 0);
    if (some != ACP_TEAM_NONE) free_team(some);
    expect_refused(acp_sync_team(ACP_TEAM_NONE), ACP_ERR_STALE, "no such team");
    free_team(same);
    free_team(halves);
}

TEST_F(TeamTest, a_team_of_a_node_has_those_that_share_memory) {
    const acp_team_t node = acp_split_team_by_node(world_);
    ASSERT_NE(node, ACP_TEAM_NULL) << acp_error_message();
    for (int rank = 0; rank < procs_; ++rank) {
        const bool is_here = acp_query_address(acp_query_starter_ga(rank)) != nullptr;
        EXPECT_EQ(acp_translate_team_rank(world_, rank, node) >= 0, is_here) << "rank " << rank;
    }
    free_team(node);
}

void multiply_matrices(void* into, const void* from, std::size_t count, void* context) {
    ++*static_cast<int*>(context);
    auto* const ours = static_cast<std::uint64_t*>(into);
    const auto* const theirs = static_cast<const std::uint64_t*>(from);
    for (std::size_t i = 0; i < 3 * count; ++i) ours[i] = ours[i] * 3 + theirs[i];
}

// The operation is neither associative nor commutative, so the result shows the order.
TEST_F(TeamTest, elements_are_combined_in_the_order_of_ranks_on_a_node) {
    const acp_team_t node = acp_split_team_by_node(world_);
    ASSERT_NE(node, ACP_TEAM_NULL) << acp_error_message();
    const int members = acp_query_team_size(node);
    for (const std::size_t count : {std::size_t{1}, std::size_t{170}, std::size_t{20'000}}) {
        std::vector<std::uint64_t> send(3 * count);
        std::vector<std::uint64_t> result(3 * count);
        const auto own = static_cast<std::uint64_t>(acp_query_team_rank(node));
        for (std::size_t i = 0; i < send.size(); ++i) send[i] = own + i;
        int calls = 0;
        ASSERT_EQ(acp_allreduce_by_team(node, send.data(), result.data(), count, 24,
                                        multiply_matrices, &calls),
                  0)
            << acp_error_message();
        for (std::size_t i = 0; i < send.size(); ++i) {
            std::uint64_t expected = i;
            for (int member = 1; member < members; ++member)
                expected = expected * 3 + static_cast<std::uint64_t>(member) + i;
            ASSERT_EQ(result[i], expected) << "word " << i << " of " << count << " elements";
        }
        EXPECT_EQ(calls > 0, members > 1);
    }
    free_team(node);
}

TEST_F(TeamTest, all_members_get_the_same_bits_of_sums_that_are_rounded) {
    for (const std::size_t count : {std::size_t{3}, std::size_t{5000}, std::size_t{90'000}}) {
        std::vector<double> send(count);
        std::vector<double> result(count);
        std::vector<double> again(count);
        Random random(static_cast<std::uint64_t>(rank_) + count);
        for (double& number : send)
            number = std::ldexp(static_cast<double>(random.below(1U << 30)),
                                static_cast<int>(random.below(60)));
        ASSERT_EQ(
            acp_allreduce_team(world_, send.data(), result.data(), count, ACP_DOUBLE, ACP_SUM), 0);
        ASSERT_EQ(acp_allreduce_team(world_, send.data(), again.data(), count, ACP_DOUBLE, ACP_SUM),
                  0);
        ASSERT_EQ(std::memcmp(result.data(), again.data(), count * sizeof(double)), 0);
        std::vector<double> of_first = result;
        ASSERT_EQ(acp_broadcast_team(world_, of_first.data(), count * sizeof(double), 0), 0);
        ASSERT_EQ(std::memcmp(result.data(), of_first.data(), count * sizeof(double)), 0);
    }
}

TEST_F(TeamTest, a_barrier_publishes_what_was_written_to_shared_memory) {
    auto* const words = static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(rank_)));
    for (std::uint64_t round = 1; round <= 200; ++round) {
        words[0] = round;
        ASSERT_EQ(acp_sync_team(world_), 0);
        for (int rank = 0; rank < procs_; ++rank) {
            const void* const there = acp_query_address(acp_query_starter_ga(rank));
            if (there == nullptr) continue;
            ASSERT_EQ(*static_cast<const std::uint64_t*>(there), round);
        }
        ASSERT_EQ(acp_sync_team(world_), 0);
    }
}

TEST_F(TeamTest, a_barrier_that_timed_out_can_be_repeated) {
    if (procs_ == 1) {
        EXPECT_EQ(acp_sync_team_timeout(world_, 0), ACP_OK);
        return;
    }
    for (int round = 0; round < 3; ++round) {
        const int last = round % procs_;
        if (rank_ != last) {
            EXPECT_EQ(acp_sync_team_timeout(world_, 0), ACP_ERR_TIMEOUT);
            EXPECT_EQ(acp_sync_team_timeout(world_, 3'000'000), ACP_ERR_TIMEOUT);
            EXPECT_EQ(acp_errno(), ACP_ERR_TIMEOUT);
            const std::string message = acp_error_message();
            EXPECT_NE(message.find("after 3000000 ns: "), std::string::npos) << message;
            EXPECT_NE(message.find(", waits for rank "), std::string::npos) << message;
            char byte = 0;
            expect_refused(acp_broadcast_team(world_, &byte, 1, 0), ACP_ERR_STATE,
                           "acp_broadcast_team");
        }
        sync_ranks();
        EXPECT_EQ(acp_sync_team_timeout(world_, round == 0 ? -1 : 60'000'000'000), ACP_OK)
            << acp_error_message();
        EXPECT_EQ(acp_sync_team(world_), 0) << acp_error_message();
    }
}

TEST_F(TeamTest, several_threads_use_several_teams_at_once) {
    constexpr int teams = 3;
    std::array<acp_team_t, teams> made{};
    for (acp_team_t& team : made) {
        team = acp_split_team(world_, 0, rank_);
        ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < teams; ++t) {
        threads.emplace_back([&, t] {
            for (std::int64_t round = 0; round < 60; ++round) {
                std::vector<std::int64_t> numbers(static_cast<std::size_t>(1 + round * 40),
                                                  rank_ + t + round);
                if (acp_allreduce_team(made[static_cast<std::size_t>(t)], numbers.data(),
                                       numbers.data(), numbers.size(), ACP_INT64, ACP_SUM) != 0)
                    ++wrong;
                const std::int64_t expected =
                    std::int64_t{procs_} * (procs_ - 1) / 2 + procs_ * (t + round);
                if (numbers.front() != expected || numbers.back() != expected) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    for (const acp_team_t team : made) free_team(team);
}

// The time between lookup and use of a team is short, so the test makes many teams.
TEST_F(TeamTest, a_team_that_is_freed_while_another_thread_asks_for_it_is_gone) {
    constexpr int teams = 300;
    std::atomic<acp_team_t> team{world_};
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over.load()) {
            const int rank = acp_query_team_rank(team.load());
            EXPECT_TRUE(rank == 0 || rank == rank_ || acp_errno() == ACP_ERR_STALE ||
                        acp_errno() == ACP_ERR_STATE)
                << rank << ": " << acp_error_message();
        }
    });
    for (int i = 0; i < teams && !HasFailure(); ++i) {
        team.store(acp_split_team(world_, rank_, 0));
        EXPECT_NE(team.load(), ACP_TEAM_NULL) << acp_error_message();
        EXPECT_EQ(acp_free_team(team.load()), 0) << acp_error_message();
    }
    is_over.store(true);
    other.join();
}

TEST_F(TeamTest, a_freed_team_gives_all_its_memory_back) {
    const auto bytes = [this] {
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(rank_, &stat), 0) << acp_error_message();
        return stat.allocated;
    };
    const auto use_once = [this] {
        const acp_team_t team = acp_split_team(world_, 0, -rank_);
        ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
        std::vector<std::uint32_t> numbers(9000, 1);
        ASSERT_EQ(acp_allreduce_team(team, numbers.data(), numbers.data(), numbers.size(),
                                     ACP_UINT32, ACP_SUM),
                  0);
        free_team(team);
    };
    // Includes what the team of all ranks allocates at its first call.
    use_once();
    sync_ranks();
    const std::size_t before = bytes();
    for (int i = 0; i < 30; ++i) use_once();
    sync_ranks();
    // Less than one team's memory: the map in which ends of channels find their partners reclaims
    // its erased entries in batches.
    EXPECT_LE(bytes(), before + 64 * 1024);
}

TEST_F(TeamTest, teams_that_are_not_there_are_refused) {
    char byte = 0;
    const acp_team_t freed = acp_split_team(world_, 0, 0);
    ASSERT_NE(freed, ACP_TEAM_NULL);
    free_team(freed);
    for (const acp_team_t team : {freed, ACP_TEAM_NULL}) {
        expect_refused(acp_sync_team(team), ACP_ERR_STALE, "acp_sync_team");
        expect_refused(acp_sync_team(team), ACP_ERR_STALE, "team as " + hexadecimal_at(team));
        expect_refused(acp_broadcast_team(team, &byte, 1, 0), ACP_ERR_STALE, "no such team");
        expect_refused(acp_query_team_rank(team), ACP_ERR_STALE, "no such team");
        expect_refused(acp_query_team_size(team), ACP_ERR_STALE, "no such team");
        expect_refused(acp_translate_team_rank(team, 0, world_), ACP_ERR_STALE, "no such team");
        expect_refused(acp_translate_team_rank(world_, 0, team), ACP_ERR_STALE, "no such team");
        expect_refused(acp_free_team(team), ACP_ERR_STALE, "no such team");
        EXPECT_EQ(acp_split_team(team, 0, 0), ACP_TEAM_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_STALE);
        EXPECT_EQ(acp_sync_team_timeout(team, 0), ACP_ERR_STALE);
    }
    expect_refused(acp_free_team(world_), ACP_ERR_ARGUMENT, "team of all ranks");
}

TEST_F(TeamTest, wrong_arguments_are_refused_and_leave_the_team_as_it_was) {
    std::int64_t number = rank_;
    std::int64_t result = 0;
    constexpr std::size_t huge = std::size_t{1} << 61;
    expect_refused(acp_broadcast_team(world_, &number, 8, procs_), ACP_ERR_ARGUMENT, "root");
    expect_refused(acp_broadcast_team(world_, &number, 8, -1), ACP_ERR_ARGUMENT, "root -1");
    expect_refused(acp_broadcast_team(world_, nullptr, 8, 0), ACP_ERR_ARGUMENT, "buf is NULL");
    const std::string no_bytes = std::to_string(huge) + " is not below 2^61 bytes";
    expect_refused(acp_broadcast_team(world_, &number, huge, 0), ACP_ERR_ARGUMENT,
                   "size " + no_bytes);

    struct Wrong {
        int type;
        int operation;
        const char* told;
    };

    for (const auto& [type, operation, told] :
         {Wrong{0, ACP_SUM, "no type 0"}, Wrong{7, ACP_SUM, "no type 7"},
          Wrong{ACP_INT32, 0, "no operation 0"}, Wrong{ACP_INT32, 7, "no operation 7"},
          Wrong{ACP_SUM, ACP_INT64, "type is ACP_SUM, and operation is ACP_INT64"},
          Wrong{ACP_DOUBLE, ACP_XOR, "ACP_XOR combines integers only, not ACP_DOUBLE"},
          Wrong{ACP_FLOAT, ACP_AND, "ACP_AND combines integers only, not ACP_FLOAT"},
          Wrong{-1, -1, "no type -1"}}) {
        expect_refused(acp_allreduce_team(world_, &number, &result, 1, type, operation),
                       ACP_ERR_ARGUMENT, told);
        expect_refused(acp_reduce_team(world_, &number, &result, 1, type, operation, 0),
                       ACP_ERR_ARGUMENT, told);
    }
    expect_refused(acp_allreduce_team(world_, nullptr, &result, 1, ACP_INT64, ACP_SUM),
                   ACP_ERR_ARGUMENT, "send is NULL");
    expect_refused(acp_allreduce_team(world_, &number, nullptr, 1, ACP_INT64, ACP_SUM),
                   ACP_ERR_ARGUMENT, "recv is NULL");
    expect_refused(acp_allreduce_team(world_, &number, &result, huge, ACP_INT64, ACP_SUM),
                   ACP_ERR_ARGUMENT,
                   "count " + std::to_string(huge) + " times 8 (bytes of an element) is not");
    expect_refused(acp_reduce_team(world_, &number, &result, 1, ACP_INT64, ACP_SUM, -1),
                   ACP_ERR_ARGUMENT, "root");
    expect_refused(acp_reduce_team(world_, &number, nullptr, 1, ACP_INT64, ACP_SUM, rank_),
                   ACP_ERR_ARGUMENT, "recv is NULL");
    expect_refused(acp_allreduce_by_team(world_, &number, &result, 1, 8, nullptr, nullptr),
                   ACP_ERR_ARGUMENT, "combine is NULL");
    expect_refused(
        acp_allreduce_by_team(world_, &number, &result, 1, 0, multiply_matrices, nullptr),
        ACP_ERR_ARGUMENT, "0 bytes");
    expect_refused(
        acp_reduce_by_team(world_, &number, &result, 1, 32'769, multiply_matrices, nullptr, 0),
        ACP_ERR_LIMIT, "32769");
    expect_refused(
        acp_reduce_by_team(world_, &number, &result, 1, 8, multiply_matrices, nullptr, procs_),
        ACP_ERR_ARGUMENT, "root");
    expect_refused(acp_scan_team(world_, &number, &result, 1, ACP_INT64, 9), ACP_ERR_ARGUMENT,
                   "no operation");
    expect_refused(acp_scan_team(world_, &number, nullptr, 1, ACP_INT64, ACP_SUM), ACP_ERR_ARGUMENT,
                   "recv is NULL");
    expect_refused(acp_scan_by_team(world_, &number, &result, 1, 8, nullptr, nullptr),
                   ACP_ERR_ARGUMENT, "combine is NULL");
    expect_refused(acp_exscan_team(world_, &number, &result, 1, ACP_INT64, 9), ACP_ERR_ARGUMENT,
                   "no operation");
    // Member 0 gets no result.
    if (rank_ != 0) {
        expect_refused(acp_exscan_team(world_, &number, nullptr, 1, ACP_INT64, ACP_SUM),
                       ACP_ERR_ARGUMENT, "recv is NULL");
    }
    EXPECT_EQ(
        acp_exscan_team(world_, &number, rank_ == 0 ? nullptr : &result, 1, ACP_INT64, ACP_SUM), 0)
        << acp_error_message();
    expect_refused(acp_gather_team(world_, &number, 8, &result, procs_), ACP_ERR_ARGUMENT, "root");
    expect_refused(acp_gather_team(world_, nullptr, 8, &result, 0), ACP_ERR_ARGUMENT, "send is");
    expect_refused(acp_gather_team(world_, &number, 8, nullptr, rank_), ACP_ERR_ARGUMENT,
                   "recv is");
    expect_refused(acp_gather_team(world_, &number, huge - 1 + (procs_ == 1 ? 1 : 0), &result, 0),
                   ACP_ERR_ARGUMENT, "times " + std::to_string(procs_) + " (members) is not");
    expect_refused(acp_allgather_team(world_, &number, 8, nullptr), ACP_ERR_ARGUMENT, "recv is");
    expect_refused(acp_allgather_team(world_, nullptr, 8, &result), ACP_ERR_ARGUMENT, "send is");
    expect_refused(acp_scatter_team(world_, &number, 8, &result, -1), ACP_ERR_ARGUMENT, "root -1");
    expect_refused(acp_scatter_team(world_, nullptr, 8, &result, rank_), ACP_ERR_ARGUMENT,
                   "send is");
    expect_refused(acp_scatter_team(world_, &number, 8, nullptr, 0), ACP_ERR_ARGUMENT, "recv is");
    expect_refused(acp_alltoall_team(world_, nullptr, 8, &result), ACP_ERR_ARGUMENT, "send is");
    expect_refused(acp_alltoall_team(world_, &number, 8, nullptr), ACP_ERR_ARGUMENT, "recv is");
    std::vector<std::size_t> sizes(static_cast<std::size_t>(procs_), 0);
    std::vector<std::size_t> other_sizes = sizes;
    other_sizes[static_cast<std::size_t>(rank_)] = 3;
    expect_refused(acp_alltoallv_team(world_, &number, nullptr, sizes.data(), &result, sizes.data(),
                                      sizes.data()),
                   ACP_ERR_ARGUMENT, "send_sizes is NULL");
    expect_refused(acp_alltoallv_team(world_, &number, sizes.data(), sizes.data(), &result,
                                      sizes.data(), nullptr),
                   ACP_ERR_ARGUMENT, "recv_offsets is NULL");
    expect_refused(acp_alltoallv_team(world_, &number, sizes.data(), sizes.data(), &result,
                                      other_sizes.data(), sizes.data()),
                   ACP_ERR_ARGUMENT, "expects 3");
    expect_refused(acp_alltoallv_team(world_, nullptr, other_sizes.data(), sizes.data(), &result,
                                      other_sizes.data(), sizes.data()),
                   ACP_ERR_ARGUMENT, "send is NULL");
    const std::string own = "[" + std::to_string(rank_) + "] is ";
    other_sizes[static_cast<std::size_t>(rank_)] = huge;
    expect_refused(acp_alltoallv_team(world_, &number, sizes.data(), sizes.data(), &result,
                                      other_sizes.data(), sizes.data()),
                   ACP_ERR_ARGUMENT,
                   "recv_sizes" + own + std::to_string(huge) + ", recv_offsets" + own +
                       "0: the size " + no_bytes);
    expect_refused(acp_alltoallv_team(world_, &number, sizes.data(), other_sizes.data(), &result,
                                      sizes.data(), sizes.data()),
                   ACP_ERR_ARGUMENT,
                   "send_sizes" + own + "0, send_offsets" + own + std::to_string(huge) +
                       ": the offset " + no_bytes);
    expect_refused(acp_translate_team_rank(world_, procs_, world_), ACP_ERR_ARGUMENT, "rank");
    expect_refused(acp_translate_team_rank(world_, -1, world_), ACP_ERR_ARGUMENT, "rank");
    const std::vector<std::vector<int>> lists{{procs_}, {-1}, {0, 0}};
    for (const std::vector<int>& list : lists) {
        EXPECT_EQ(acp_create_team(world_, list.data(), static_cast<int>(list.size())),
                  ACP_TEAM_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
    }
    EXPECT_EQ(acp_create_team(world_, nullptr, 1), ACP_TEAM_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    EXPECT_EQ(acp_create_team(world_, &procs_, 0), ACP_TEAM_NULL);
    expect_error(ACP_ERR_ARGUMENT, {"the list of ranks has 0 ranks: it has 1 or more"});
    // Too many: the list is not read.
    for (const int count : {procs_ + 1, 100'000'000, std::numeric_limits<int>::max()}) {
        EXPECT_EQ(acp_create_team(world_, &rank_, count), ACP_TEAM_NULL);
        expect_error(ACP_ERR_ARGUMENT,
                     {"acp_create_team", "the list has " + std::to_string(count) + " ranks",
                      "the team has " + std::to_string(procs_) + " members"});
    }
    ASSERT_EQ(acp_allreduce_team(world_, &number, &result, 1, ACP_INT64, ACP_SUM), 0)
        << acp_error_message();
    EXPECT_EQ(result, std::int64_t{procs_} * (procs_ - 1) / 2);
    // A call of 0 bytes or elements accesses no memory.
    EXPECT_EQ(acp_broadcast_team(world_, nullptr, 0, 0), 0) << acp_error_message();
    EXPECT_EQ(acp_allreduce_team(world_, nullptr, nullptr, 0, ACP_FLOAT, ACP_MAX), 0);
}

TEST_F(TeamTest, different_lists_are_refused_and_do_not_break_the_team) {
    if (procs_ == 1) return;
    const std::array<int, 2> list{rank_ == 0 ? 1 : 0, rank_ == 0 ? 0 : 1};
    EXPECT_EQ(acp_create_team(world_, list.data(), 2), ACP_TEAM_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_MISMATCH) << acp_error_message();
    const std::string message = acp_error_message();
    EXPECT_NE(message.find(rank_ == 0 ? "of ranks 1, 0" : "of ranks 0, 1"), std::string::npos)
        << message;
    EXPECT_EQ(acp_sync_team(world_), 0) << acp_error_message();
}

TEST_F(TeamTest, a_member_without_room_in_its_heap_fails_the_call_on_all) {
    std::vector<acp_ga_t> blocks;
    if (rank_ == procs_ - 1) {
        for (std::size_t bytes = 1 << 20; bytes >= 1 << 16; bytes /= 2) {
            for (acp_ga_t block = 0; (block = acp_malloc(bytes, rank_)) != ACP_GA_NULL;)
                blocks.push_back(block);
        }
    }
    sync_ranks();
    if (procs_ > 1) {
        EXPECT_EQ(acp_split_team(world_, 0, 0), ACP_TEAM_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
    }
    for (const acp_ga_t block : blocks) EXPECT_EQ(acp_free(block), 0);
    sync_ranks();
    const acp_team_t team = acp_split_team(world_, 0, 0);
    ASSERT_NE(team, ACP_TEAM_NULL) << acp_error_message();
    free_team(team);
}

}  // namespace
}  // namespace acp::test
