// SPDX-License-Identifier: BSD-3-Clause
// Ranks that move the entries of the same hashed containers at once: each entry is in one of them
// afterwards, once, and no count has changed. A missing container is refused.
#include <cstdint>
#include <string>

#include <acp.h>

#include "conformance/hashed_fixture.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t keys = 150;
constexpr int rounds = 4;

class HashedMoveTest : public HashedTest {
protected:
    // Makes two containers that all ranks use.
    template <typename Handle, typename Make, typename Destroy, typename Use>
    void with_two(const Make& make, const Destroy& destroy, const Use& use) {
        with_shared<Handle>(make, destroy, [&](Handle one) {
            with_shared<Handle>(make, destroy, [&](Handle other) { use(one, other); });
        });
    }

    // Each rank moves all entries, in both directions by turns.
    template <typename Handle, typename Move>
    void move_at_once(Handle one, Handle other, const Move& move) {
        for (int round = 0; round < rounds; ++round) {
            sync_ranks();
            const bool is_there = (rank_ + round) % 2 == 0;
            EXPECT_EQ(is_there ? move(other, one) : move(one, other), 0) << acp_error_message();
        }
        sync_ranks();
    }
};

TEST_F(HashedMoveTest, an_entry_of_a_map_that_ranks_move_in_both_directions_stays_in_one) {
    const auto make = [&] { return acp_create_map(0, nullptr, 2, procs_ - 1); };
    with_two<acp_map_t>(make, acp_destroy_map, [&](acp_map_t one, acp_map_t other) {
        for (std::uint64_t i = 0; i < keys; ++i)
            ASSERT_EQ(insert(one, own_key(i), "value"), 1) << acp_error_message();
        move_at_once(one, other, acp_move_map);
        for (std::uint64_t i = 0; i < keys; ++i) {
            const int found = (value_of(one, own_key(i)) == "value" ? 1 : 0) +
                              (value_of(other, own_key(i)) == "value" ? 1 : 0);
            EXPECT_EQ(found, 1) << own_key(i);
        }
        sync_ranks();
    });
}

TEST_F(HashedMoveTest, a_key_of_a_set_that_ranks_move_in_both_directions_stays_in_one) {
    const auto make = [&] { return acp_create_set(0, nullptr, 2, procs_ - 1); };
    with_two<acp_set_t>(make, acp_destroy_set, [&](acp_set_t one, acp_set_t other) {
        for (std::uint64_t i = 0; i < keys; ++i) {
            const std::string key = own_key(i);
            ASSERT_EQ(acp_insert_if_absent_set(one, key.data(), key.size()), 1);
        }
        move_at_once(one, other, acp_move_set);
        for (std::uint64_t i = 0; i < keys; ++i) {
            const std::string key = own_key(i);
            EXPECT_EQ(acp_contains_set(one, key.data(), key.size()) +
                          acp_contains_set(other, key.data(), key.size()),
                      1)
                << key;
        }
        sync_ranks();
    });
}

TEST_F(HashedMoveTest, entries_of_a_multimap_that_ranks_move_at_once_are_there_once) {
    const auto make = [&] { return acp_create_multimap(0, nullptr, 2, procs_ - 1); };
    with_two<acp_multimap_t>(
        make, acp_destroy_multimap, [&](acp_multimap_t one, acp_multimap_t other) {
            for (std::uint64_t i = 0; i < keys; ++i) {
                const std::string key = own_key(i);
                ASSERT_NE(acp_insert_multimap(one, key.data(), key.size(), &i, sizeof i).elem,
                          ACP_GA_NULL);
            }
            for (const bool is_local : {false, true}) {
                sync_ranks();
                EXPECT_EQ(
                    is_local ? acp_move_local_multimap(other, one) : acp_move_multimap(other, one),
                    0)
                    << acp_error_message();
                move_at_once(one, other, acp_move_multimap);
                EXPECT_EQ(acp_size_multimap(one) + acp_size_multimap(other),
                          keys * static_cast<std::uint64_t>(procs_));
            }
            sync_ranks();
        });
}

TEST_F(HashedMoveTest, counts_of_a_multiset_that_ranks_move_at_once_stay) {
    const auto make = [&] { return acp_create_multiset(0, nullptr, 2, procs_ - 1); };
    with_two<acp_multiset_t>(
        make, acp_destroy_multiset, [&](acp_multiset_t one, acp_multiset_t other) {
            for (std::uint64_t i = 0; i < keys; ++i) {
                const std::string key = own_key(i);
                ASSERT_NE(acp_add_multiset(one, key.data(), key.size(), i + 1), ~std::uint64_t{0});
            }
            move_at_once(one, other, acp_move_multiset);
            for (std::uint64_t i = 0; i < keys; ++i) {
                const std::string key = own_key(i);
                EXPECT_EQ(acp_retrieve_multiset(one, key.data(), key.size()) +
                              acp_retrieve_multiset(other, key.data(), key.size()),
                          i + 1)
                    << key;
            }
            sync_ranks();
        });
}

// The lock of the movers, and the lists of a swap with a container of more tables, are in separate
// blocks.
TEST_F(HashedMoveTest, a_container_that_was_moved_and_swapped_leaves_no_block_behind) {
    if (rank_ != 0) return;
    const auto blocks = [] {
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(0, &stat), 0);
        return stat.blocks;
    };
    const std::uint64_t before = blocks();
    for (int i = 0; i < 3; ++i) {
        const acp_map_t small = acp_create_map(1, &rank_, 2, 0);
        const acp_map_t large = acp_create_map(0, nullptr, 2, 0);
        ASSERT_EQ(acp_move_map(small, large), 0) << acp_error_message();
        ASSERT_EQ(acp_swap_map(small, large), 0) << acp_error_message();
        ASSERT_EQ(insert(small, "key", "value"), 1) << acp_error_message();
        ASSERT_EQ(acp_swap_map(small, large), 0) << acp_error_message();
        ASSERT_EQ(value_of(large, "key"), "value");
        EXPECT_EQ(acp_destroy_map(small), 0);
        EXPECT_EQ(acp_destroy_map(large), 0);
    }
    EXPECT_EQ(blocks(), before);
}

TEST_F(HashedMoveTest, a_missing_target_is_refused_also_for_an_empty_source) {
    const acp_map_t empty = acp_create_map(1, &rank_, 1, rank_);
    const acp_map_t gone = acp_create_map(1, &rank_, 1, rank_);
    ASSERT_EQ(acp_destroy_map(gone), 0) << acp_error_message();
    for (const auto& call : {acp_assign_map, acp_assign_local_map, acp_move_map, acp_move_local_map,
                             acp_merge_map, acp_merge_local_map, acp_swap_map}) {
        EXPECT_EQ(call(gone, empty), -1);
        expect_refused(ACP_ERR_STALE, {"map"});
    }
    EXPECT_EQ(acp_destroy_map(empty), 0) << acp_error_message();
}

TEST_F(HashedMoveTest, an_exchange_without_a_number_that_is_expected_is_refused) {
    const acp_map_t map = acp_create_map(1, &rank_, 1, rank_);
    EXPECT_EQ(acp_fetch_add_map(map, "k", 1, 5, nullptr), 1) << acp_error_message();
    EXPECT_EQ(acp_compare_exchange_map(map, "k", 1, nullptr, 3), -1);
    expect_refused(ACP_ERR_ARGUMENT, {"acp_compare_exchange_map", "expected is NULL"});
    EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
