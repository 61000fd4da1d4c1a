// SPDX-License-Identifier: BSD-3-Clause
// acp_register_all: every rank gets the addresses of all ranks, for all sizes; it succeeds on all
// ranks or on none, and changes no other registration.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "support/arena.hpp"
#include "support/mode.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

class RegisterAllTest : public RankedTest {
protected:
    // The size differs between ranks; it is 0 on rank 1.
    [[nodiscard]] static std::size_t size_of(int rank) {
        return rank == 1 ? 0 : 64 * (static_cast<std::size_t>(rank) + 1);
    }

    [[nodiscard]] bool reaches(int rank) const {
        return rank == rank_ || mode().reaches_private_memory();
    }

    // Calls acp_register_all with the caller's part.
    void register_parts() {
        part_.assign(size_of(rank_), std::byte{0});
        fill_pattern(part_, 3, rank_);
        addresses_.assign(static_cast<std::size_t>(procs_), 7);
        void* const address = part_.empty() ? nullptr : part_.data();
        ASSERT_EQ(acp_register_all(address, part_.size(), 0, addresses_.data(), &key_), 0)
            << acp_error_message();
    }

    void unregister_parts() {
        sync_ranks();
        if (key_ != ACP_ATKEY_NULL) {
            EXPECT_EQ(acp_unregister_memory(key_), 0);
        }
        sync_ranks();
    }

    [[nodiscard]] acp_ga_t address_of(int rank) const {
        return addresses_[static_cast<std::size_t>(rank)];
    }

    std::vector<std::byte> part_;
    std::vector<acp_ga_t> addresses_;
    acp_atkey_t key_ = 7;
};

TEST_F(RegisterAllTest, gives_every_rank_the_addresses_of_all) {
    register_parts();
    const Arena landing(Kind::starter, 4096);
    for (int rank = 0; rank < procs_; ++rank) {
        if (rank == 1) {
            EXPECT_EQ(address_of(rank), ACP_GA_NULL);
            continue;
        }
        EXPECT_EQ(acp_query_rank(address_of(rank)), rank);
        if (!reaches(rank)) continue;
        std::vector<std::byte> expected(size_of(rank));
        fill_pattern(expected, 3, rank);
        expect_done(
            acp_copy(landing.at(rank_), address_of(rank), expected.size(), ACP_HANDLE_NULL));
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), landing.local().begin()))
            << "of rank " << rank;
    }
    if (!part_.empty()) {
        EXPECT_EQ(address_of(rank_), acp_query_ga(key_, part_.data()));
    }
    unregister_parts();
}

TEST_F(RegisterAllTest, registers_nothing_where_the_size_is_0) {
    std::vector<acp_ga_t> addresses(static_cast<std::size_t>(procs_), 7);
    acp_atkey_t key = 7;
    ASSERT_EQ(acp_register_all(nullptr, 0, 0, addresses.data(), &key), 0) << acp_error_message();
    EXPECT_EQ(key, ACP_ATKEY_NULL);
    for (const acp_ga_t address : addresses) EXPECT_EQ(address, ACP_GA_NULL);
}

TEST_F(RegisterAllTest, gives_other_addresses_each_time_it_is_called) {
    register_parts();
    const std::vector<acp_ga_t> before = addresses_;
    const acp_atkey_t key_before = key_;
    register_parts();
    for (int rank = 0; rank < procs_; ++rank) {
        if (rank != 1) {
            EXPECT_NE(address_of(rank), before[static_cast<std::size_t>(rank)]);
        }
    }
    if (key_before != ACP_ATKEY_NULL) {
        EXPECT_EQ(acp_unregister_memory(key_before), 0);
    }
    unregister_parts();
}

TEST_F(RegisterAllTest, fails_on_every_rank_and_names_the_one_that_failed) {
    const int culprit = procs_ - 1;
    std::vector<std::uint64_t> memory(64, 5);
    std::vector<acp_ga_t> addresses(static_cast<std::size_t>(procs_), 7);
    acp_atkey_t key = 7;
    const int color = rank_ == culprit ? 77 : 0;
    EXPECT_EQ(acp_register_all(memory.data(), 512, color, addresses.data(), &key), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    const std::string message = acp_error_message();
    EXPECT_NE(message.find("acp_register_all"), std::string::npos) << message;
    EXPECT_NE(message.find(" by rank " + std::to_string(rank_) + " on "), std::string::npos)
        << message;
    const std::string part =
        rank_ == culprit ? "colour 77" : "rank " + std::to_string(culprit) + " failed";
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(key, 7U);
    for (const acp_ga_t address : addresses) EXPECT_EQ(address, 7U);
    // The next call succeeds.
    register_parts();
    unregister_parts();
}

TEST_F(RegisterAllTest, refuses_no_place_for_the_answer_on_every_rank) {
    std::vector<acp_ga_t> addresses(static_cast<std::size_t>(procs_), 7);
    acp_atkey_t key = 7;
    acp_atkey_t* const given = rank_ == 0 ? nullptr : &key;
    EXPECT_EQ(acp_register_all(nullptr, 0, 0, addresses.data(), given), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    EXPECT_EQ(addresses[0], 7U);
}

TEST_F(RegisterAllTest, leaves_starter_memory_alone_and_completes_no_handle) {
    const Arena starter(Kind::starter, starter_room());
    fill_pattern(starter.local(), 9, rank_);
    const std::vector<std::byte> before(starter.local().begin(), starter.local().end());
    sync_ranks();
    register_parts();
    EXPECT_TRUE(std::equal(before.begin(), before.end(), starter.local().begin()));
    unregister_parts();
    std::ranges::fill(starter.local(), std::byte{0});
    sync_ranks();
}

TEST_F(RegisterAllTest, makes_plain_stores_of_every_rank_visible_as_acp_sync_does) {
    const Arena words(Kind::starter, 64);
    for (std::uint64_t round = 1; round <= 20; ++round) {
        words.word<std::uint64_t>() = round + static_cast<std::uint64_t>(rank_);
        std::vector<acp_ga_t> addresses(static_cast<std::size_t>(procs_));
        acp_atkey_t key = 0;
        ASSERT_EQ(acp_register_all(nullptr, 0, 0, addresses.data(), &key), 0);
        const int next = (rank_ + 1) % procs_;
        std::uint64_t seen = 0;
        std::memcpy(&seen, words.fetched_from(next).data(), sizeof seen);
        EXPECT_EQ(seen, round + static_cast<std::uint64_t>(next));
        sync_ranks();
    }
}

TEST_F(RegisterAllTest, gives_addresses_by_the_new_ranks_after_a_reset) {
    ASSERT_EQ(acp_reset((acp_rank() + 1) % procs_), 0) << acp_error_message();
    const int rank = acp_rank();
    std::vector<std::uint64_t> mine(1, static_cast<std::uint64_t>(rank) + 40);
    std::vector<acp_ga_t> addresses(static_cast<std::size_t>(procs_));
    acp_atkey_t key = 0;
    ASSERT_EQ(acp_register_all(mine.data(), 8, 0, addresses.data(), &key), 0)
        << acp_error_message();
    const Arena landing(Kind::starter, 64);
    for (int other = 0; other < procs_; ++other) {
        const acp_ga_t address = addresses[static_cast<std::size_t>(other)];
        EXPECT_EQ(acp_query_rank(address), other);
        if (other != rank && !mode().reaches_private_memory()) continue;
        expect_done(acp_copy(landing.at(rank), address, 8, ACP_HANDLE_NULL));
        EXPECT_EQ(landing.word<std::uint64_t>(), static_cast<std::uint64_t>(other) + 40);
    }
    sync_ranks();
    EXPECT_EQ(acp_unregister_memory(key), 0);
    sync_ranks();
}

TEST_F(RegisterAllTest, ends_one_part_without_the_others) {
    register_parts();
    sync_ranks();
    if (rank_ == 0) {
        EXPECT_EQ(acp_unregister_memory(key_), 0);
    }
    sync_ranks();
    const Arena landing(Kind::starter, 64);
    if (reaches(0)) {
        const acp_handle_t stale = acp_copy(landing.at(rank_), address_of(0), 8, ACP_HANDLE_NULL);
        EXPECT_EQ(acp_wait(stale, -1), ACP_ERR_STALE);
    }
    sync_ranks();
    if (rank_ > 1) {
        EXPECT_EQ(acp_unregister_memory(key_), 0);
    }
    sync_ranks();
}

}  // namespace
}  // namespace acp::test
