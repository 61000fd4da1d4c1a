// SPDX-License-Identifier: BSD-3-Clause
// The acp_query_* functions, registration and acp_path: the memory that an address names, and the
// path by which it is reached.
#include <array>
#include <set>
#include <string>

#include "support/arena.hpp"
#include "support/mode.hpp"
#include "support/nodes.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

using QueryTest = RankedTest;

TEST_F(QueryTest, knows_rank_procs_and_state) {
    EXPECT_EQ(acp_initialized(), 1);
    EXPECT_GE(acp_rank(), 0);
    EXPECT_LT(acp_rank(), acp_procs());
    const std::vector<std::uint64_t> ranks = exchange(static_cast<std::uint64_t>(rank_));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        EXPECT_EQ(ranks[rank], rank);
    }
    EXPECT_EQ(std::string(acp_version()).substr(0, 2), "4.");
}

TEST_F(QueryTest, gives_every_rank_a_starter_memory_of_its_own) {
    std::set<acp_ga_t> addresses;
    for (int rank = 0; rank < procs_; ++rank) {
        const acp_ga_t address = acp_query_starter_ga(rank);
        EXPECT_NE(address, ACP_GA_NULL);
        EXPECT_TRUE(addresses.insert(address).second);
        EXPECT_EQ(acp_query_rank(address), rank);
        EXPECT_EQ(acp_query_rank(address + acp_starter_size() - 1), rank);
        EXPECT_EQ(acp_query_color(address), 0);
    }
    const std::vector<std::uint64_t> mine = exchange(acp_query_starter_ga(rank_));
    for (int rank = 0; rank < procs_; ++rank) {
        EXPECT_EQ(mine[static_cast<std::size_t>(rank)], acp_query_starter_ga(rank));
    }
}

TEST_F(QueryTest, maps_starter_memory_of_every_rank_of_the_node_and_of_no_other) {
    const Arena arena(Kind::starter, 1024);
    for (int rank = 0; rank < procs_; ++rank) {
        if (!is_near(rank)) {
            EXPECT_EQ(acp_query_address(arena.at(rank)), nullptr);
            expect_error(ACP_ERR_UNSUPPORTED);
            continue;
        }
        auto* words = static_cast<std::uint64_t*>(acp_query_address(arena.at(rank)));
        ASSERT_NE(words, nullptr) << acp_error_message();
        words[rank_] = static_cast<std::uint64_t>(100 * rank + rank_);
        EXPECT_EQ(acp_query_address(arena.at(rank, 8)), words + 1);
    }
    sync_ranks();
    for (int rank = 0; rank < procs_; ++rank) {
        EXPECT_EQ(arena.word<std::uint64_t>(8 * static_cast<std::size_t>(rank)),
                  is_near(rank) ? static_cast<std::uint64_t>(100 * rank_ + rank) : 0);
    }
}

TEST_F(QueryTest, maps_own_registered_memory_and_not_that_of_others) {
    const Arena arena(Kind::registered, 4096);
    EXPECT_EQ(acp_query_address(arena.at(rank_)), arena.local().data());
    EXPECT_EQ(acp_query_address(arena.at(rank_, 4095)), arena.local().data() + 4095);
    EXPECT_EQ(acp_query_rank(arena.at(rank_, 17)), rank_);
    for (int rank = 0; rank < procs_; ++rank) {
        EXPECT_EQ(acp_query_rank(arena.at(rank)), rank);
        if (rank != rank_) {
            EXPECT_EQ(acp_query_address(arena.at(rank)), nullptr);
            expect_error(ACP_ERR_UNSUPPORTED);
        }
    }
}

TEST_F(QueryTest, gives_addresses_inside_a_registration_only) {
    std::array<std::byte, 1000> memory = {};
    const acp_atkey_t key = acp_register_memory(memory.data() + 100, 800, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    const acp_ga_t first = acp_query_ga(key, memory.data() + 100);
    EXPECT_NE(first, ACP_GA_NULL);
    EXPECT_EQ(acp_query_ga(key, memory.data() + 899), first + 799);
    for (const std::size_t outside : {0U, 99U, 901U, 999U}) {
        EXPECT_EQ(acp_query_ga(key, memory.data() + outside), ACP_GA_NULL) << outside;
        expect_error(ACP_ERR_ADDRESS);
    }
    EXPECT_EQ(acp_query_address(first + 10), memory.data() + 110);
    EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
    EXPECT_EQ(acp_query_ga(key, memory.data() + 100), ACP_GA_NULL);
    expect_error(ACP_ERR_STALE);
    EXPECT_EQ(acp_query_address(first), nullptr);
    expect_error(ACP_ERR_STALE);
}

TEST_F(QueryTest, keeps_the_colour_of_a_registration_in_its_addresses) {
    ASSERT_GE(acp_colors(), 1);
    std::array<std::uint64_t, 8> memory = {};
    const Arena own(Kind::starter, 64);
    for (int color = 0; color < acp_colors(); ++color) {
        const acp_atkey_t key = acp_register_memory(memory.data(), sizeof memory, color);
        ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
        const acp_ga_t address = acp_query_ga(key, memory.data());
        EXPECT_EQ(acp_query_color(address), color);
        EXPECT_EQ(acp_query_rank(address), rank_);
        EXPECT_EQ(acp_query_address(address), memory.data());
        own.word<std::uint64_t>() = static_cast<std::uint64_t>(color) + 77;
        expect_done(acp_copy(address, own.at(rank_), 8, ACP_HANDLE_NULL));
        EXPECT_EQ(memory[0], static_cast<std::uint64_t>(color) + 77);
        EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
    }
}

TEST_F(QueryTest, makes_addresses_of_a_colour_that_other_ranks_can_use) {
    if (!mode().reaches_private_memory()) {
        GTEST_SKIP() << "this mode does not reach another rank's registered memory";
    }
    const Arena own(Kind::starter, 64);
    std::array<std::uint64_t, 8> memory = {};
    const acp_atkey_t key = acp_register_memory(memory.data(), sizeof memory, acp_colors() - 1);
    ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
    const auto addresses = exchange(acp_query_ga(key, memory.data()));
    const auto next = static_cast<std::size_t>((rank_ + 1) % procs_);
    own.word<std::uint64_t>() = static_cast<std::uint64_t>(rank_) + 1000;
    EXPECT_EQ(acp_query_color(addresses[next]), acp_colors() - 1);
    expect_done(acp_copy(addresses[next] + 8, own.at(rank_), 8, ACP_HANDLE_NULL));
    sync_ranks();
    EXPECT_EQ(memory[1], static_cast<std::uint64_t>((rank_ + procs_ - 1) % procs_) + 1000);
    sync_ranks();
    EXPECT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
}

TEST_F(QueryTest, names_the_path_and_whether_the_owner_must_help) {
    const Arena shared(Kind::starter, 64);
    const Arena registered(Kind::registered, 64);
    const int other = (rank_ + 1) % procs_;
    const acp_path_t local = acp_path(shared.at(rank_), registered.at(rank_));
    EXPECT_NE(local.name, nullptr);
    EXPECT_NE(std::string(local.name), "none");
    if (!is_near(other)) {
        EXPECT_EQ(std::string(acp_path(shared.at(other), shared.at(rank_)).name), "remote");
        EXPECT_EQ(std::string(acp_path(shared.at(rank_), registered.at(other)).name), "remote");
        // A rank that is its own gateway must answer itself.
        EXPECT_EQ(acp_path(shared.at(other), shared.at(rank_)).owner_must_help,
                  has_own_gateways() ? 1 : 0);
    } else if (mode().is_shared_one_sided()) {
        const acp_path_t path = acp_path(shared.at(other), shared.at(rank_));
        EXPECT_EQ(path.owner_must_help, 0) << path.name;
        if (mode().intranode != "attach") {
            EXPECT_EQ(std::string(path.name), "direct");
        }
    }
    if (other != rank_ && is_near(other)) {
        const acp_path_t path = acp_path(registered.at(other), shared.at(rank_));
        if (!mode().reaches_private_memory()) {
            EXPECT_EQ(std::string(path.name), "none");
        } else if (mode().is_private_one_sided()) {
            EXPECT_EQ(path.owner_must_help, 0) << path.name;
            EXPECT_EQ(std::string(path.name), "attach");
        } else {
            EXPECT_EQ(path.owner_must_help, 1) << path.name;
        }
    }
    const acp_ga_t wild = 1;
    EXPECT_EQ(std::string(acp_path(wild, shared.at(rank_)).name), "none");
    EXPECT_EQ(std::string(acp_path(ACP_GA_NULL, ACP_GA_NULL).name), "none");
}

using SyncTest = RankedTest;

TEST_F(SyncTest, makes_plain_stores_of_every_rank_visible_to_every_rank_of_its_node) {
    const Arena arena(Kind::starter, 64);
    std::vector<const std::uint64_t*> words;
    for (int rank = 0; rank < procs_; ++rank) {
        words.push_back(static_cast<const std::uint64_t*>(acp_query_address(arena.at(rank))));
        ASSERT_EQ(words.back() != nullptr, is_near(rank));
    }
    constexpr std::uint64_t rounds = 2000;
    std::uint64_t wrong = 0;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
        arena.word<std::uint64_t>() = round * 10 + static_cast<std::uint64_t>(rank_);
        sync_ranks();
        for (int rank = 0; rank < procs_; ++rank) {
            if (!is_near(rank)) {
                continue;
            }
            const std::uint64_t seen = *words[static_cast<std::size_t>(rank)];
            wrong += seen != round * 10 + static_cast<std::uint64_t>(rank) ? 1 : 0;
        }
        sync_ranks();
    }
    EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace acp::test
