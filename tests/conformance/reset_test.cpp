// SPDX-License-Identifier: BSD-3-Clause
// acp_reset, and acp_finalize followed by acp_init: new ranks, zeroed starter memory, and stale
// handles, keys and addresses; a bad request changes nothing on any rank. A program of its own,
// since it changes the ranks of processes.
#include <algorithm>
#include <numeric>
#include <string>
#include <unistd.h>
#include <vector>

#include "support/arena.hpp"
#include "support/mode.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

using ResetTest = RankedTest;

bool is_all_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

std::span<std::byte> own_starter() {
    const acp_ga_t address = acp_query_starter_ga(acp_rank());
    return {static_cast<std::byte*>(acp_query_address(address)), acp_starter_size()};
}

TEST_F(ResetTest, gives_the_wanted_rank_and_zeroed_starter_memory) {
    const int before = acp_rank();
    const int wanted = (before + 1) % procs_;
    std::ranges::fill(own_starter(), std::byte{0xab});
    sync_ranks();
    ASSERT_EQ(acp_reset(wanted), 0) << acp_error_message();
    EXPECT_EQ(acp_rank(), wanted);
    EXPECT_EQ(acp_procs(), procs_);
    EXPECT_TRUE(is_all_zero(own_starter()));
    sync_ranks();
    const auto processes = exchange(static_cast<std::uint64_t>(before));
    for (int rank = 0; rank < procs_; ++rank) {
        EXPECT_EQ(processes[static_cast<std::size_t>(rank)],
                  static_cast<std::uint64_t>((rank + procs_ - 1) % procs_));
    }
}

TEST_F(ResetTest, routes_addresses_of_the_new_ranks_to_their_processes) {
    ASSERT_EQ(acp_reset(procs_ - 1 - acp_rank()), 0) << acp_error_message();
    const int rank = acp_rank();
    const int next = (rank + 1) % procs_;
    for (const Kind kind : {Kind::starter, Kind::registered}) {
        if (kind == Kind::registered && !mode().reaches_private_memory()) {
            continue;
        }
        const Arena words(kind, 64, 64);
        const Arena own(Kind::starter, 64);
        own.word<std::uint64_t>() = static_cast<std::uint64_t>(rank) + 500;
        sync_ranks();
        expect_done(acp_copy(words.at(next), own.at(rank), 8, ACP_HANDLE_NULL));
        expect_done(acp_add8(own.at(rank, 8), words.at(next), 1, ACP_HANDLE_NULL));
        sync_ranks();
        EXPECT_EQ(words.word<std::uint64_t>(),
                  static_cast<std::uint64_t>((rank + procs_ - 1) % procs_) + 501);
    }
}

TEST_F(ResetTest, kills_keys_addresses_and_handles_of_the_old_epoch) {
    std::vector<std::uint64_t> memory(16, 1);
    const acp_atkey_t key = acp_register_memory(memory.data(), 128, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL);
    const acp_ga_t address = acp_query_ga(key, memory.data());
    const acp_handle_t handle = acp_copy(address, address + 8, 8, ACP_HANDLE_NULL);
    expect_done(handle);
    const auto addresses = exchange(address);
    ASSERT_EQ(acp_reset(acp_rank()), 0) << acp_error_message();
    const acp_atkey_t new_key = acp_register_memory(memory.data(), 128, 0);
    ASSERT_NE(new_key, ACP_ATKEY_NULL);
    EXPECT_NE(new_key, key) << "a key of the old epoch names memory of the new one";
    EXPECT_EQ(acp_query_ga(key, memory.data()), ACP_GA_NULL);
    EXPECT_TRUE(acp_errno() == ACP_ERR_STALE || acp_errno() == ACP_ERR_ARGUMENT)
        << acp_error_message();
    EXPECT_EQ(acp_unregister_memory(key), -1);
    EXPECT_TRUE(acp_errno() == ACP_ERR_STALE || acp_errno() == ACP_ERR_ARGUMENT)
        << acp_error_message();
    sync_ranks();
    EXPECT_EQ(acp_inquire(handle), 0);
    EXPECT_EQ(acp_wait(handle, -1), ACP_OK);
    const acp_ga_t own = acp_query_starter_ga(acp_rank());
    for (const acp_ga_t stale : addresses) {
        const int code = acp_wait(acp_copy(stale, own, 8, ACP_HANDLE_NULL), -1);
        EXPECT_TRUE(code == ACP_ERR_STALE || code == ACP_ERR_ADDRESS) << acp_error_message();
    }
    sync_ranks();
    EXPECT_EQ(memory[0], 1U);
}

TEST_F(ResetTest, completes_all_commands_issued_before) {
    const Arena counter(Kind::starter, 64);
    const acp_ga_t zero = acp_query_starter_ga(0);
    std::uint64_t seen = 0;
    const acp_atkey_t key = acp_register_memory(&seen, sizeof seen, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL);
    for (int count = 0; count < 100; ++count) {
        acp_add8(acp_query_ga(key, &seen), zero, 1, ACP_HANDLE_NULL);
    }
    ASSERT_EQ(acp_reset(acp_rank()), 0) << acp_error_message();
    EXPECT_LT(seen, 100U * static_cast<unsigned>(procs_));
    EXPECT_TRUE(is_all_zero(own_starter())) << "a command of the old epoch landed in the new one";
}

TEST_F(ResetTest, refuses_ranks_given_twice_on_all_ranks_and_changes_nothing) {
    if (procs_ < 2) {
        GTEST_SKIP() << "needs two ranks";
    }
    const int rank = acp_rank();
    const Arena registered(Kind::registered, 64);
    std::ranges::fill(own_starter().first(1000), std::byte{0xcd});
    sync_ranks();
    EXPECT_EQ(acp_reset(rank == 1 ? 0 : rank), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    EXPECT_NE(std::string(acp_error_message()).find('0'), std::string::npos)
        << "the message does not name rank 0: " << acp_error_message();
    EXPECT_EQ(acp_rank(), rank);
    EXPECT_EQ(own_starter()[999], std::byte{0xcd});
    EXPECT_EQ(acp_query_ga(registered.key(), registered.local().data()), registered.at(rank));
    expect_done(acp_copy(registered.at(rank), acp_query_starter_ga(rank), 8, ACP_HANDLE_NULL));
}

TEST_F(ResetTest, refuses_ranks_out_of_range_on_all_ranks_and_changes_nothing) {
    const int rank = acp_rank();
    std::ranges::fill(own_starter().first(1000), std::byte{0xce});
    for (const int wrong : {-1, procs_, 1 << 30}) {
        sync_ranks();
        EXPECT_EQ(acp_reset(rank == 0 ? wrong : rank), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
        EXPECT_NE(std::string(acp_error_message()).find(std::to_string(wrong)), std::string::npos)
            << "the message does not name " << wrong << ": " << acp_error_message();
        EXPECT_EQ(acp_rank(), rank);
        EXPECT_EQ(own_starter()[999], std::byte{0xce});
    }
}

TEST_F(ResetTest, follows_many_random_permutations) {
    // All ranks draw the same numbers.
    Random random(20);
    std::vector<int> of_process(static_cast<std::size_t>(procs_));
    std::iota(of_process.begin(), of_process.end(), 0);
    const auto me = static_cast<std::size_t>(acp_rank());
    for (int round = 0; round < 30; ++round) {
        for (std::size_t index = of_process.size() - 1; index > 0; --index) {
            std::swap(of_process[index], of_process[random.below(index + 1)]);
        }
        ASSERT_EQ(acp_reset(of_process[me]), 0) << acp_error_message();
        ASSERT_EQ(acp_rank(), of_process[me]);
        const auto processes = exchange(me);
        for (std::size_t process = 0; process < of_process.size(); ++process) {
            ASSERT_EQ(processes[static_cast<std::size_t>(of_process[process])], process);
        }
    }
}

TEST_F(ResetTest, begins_a_new_epoch_when_it_joins_again_after_finalize) {
    const int rank = acp_rank();
    std::ranges::fill(own_starter(), std::byte{0x77});
    for (int round = 0; round < 3; ++round) {
        // After a call on the heap the thread's next ones take a fast path, which must notice
        // acp_finalize.
        const acp_ga_t block = acp_malloc(8, rank_);
        acp_free(acp_malloc(8, rank_));
        ASSERT_EQ(acp_finalize(), 0) << acp_error_message();
        EXPECT_EQ(acp_initialized(), 0);
        EXPECT_EQ(acp_rank(), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
        EXPECT_EQ(acp_malloc(8, 0), ACP_GA_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
        acp_free(block);
        EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
        ASSERT_EQ(acp_init(nullptr, nullptr), 0) << acp_error_message();
        EXPECT_EQ(acp_initialized(), 1);
        EXPECT_EQ(acp_procs(), procs_);
        EXPECT_TRUE(is_all_zero(own_starter()));
        const auto ranks = exchange(static_cast<std::uint64_t>(acp_rank()));
        for (std::size_t index = 0; index < ranks.size(); ++index) {
            EXPECT_EQ(ranks[index], index);
        }
    }
    EXPECT_GE(rank, 0);
}

}  // namespace
}  // namespace acp::test
