// SPDX-License-Identifier: BSD-3-Clause
// Sets, multisets and multimaps that all ranks use at once, and swaps, merges and moves between two
// containers.
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <acp.h>

#include "conformance/hashed_fixture.hpp"

namespace acp::test {
namespace {

TEST_F(HashedTest, a_set_holds_a_key_once) {
    with_shared<acp_set_t>(
        [&] { return acp_create_set(0, nullptr, 1, 0); }, acp_destroy_set,
        [this](acp_set_t set) {
            std::uint64_t won = 0;
            for (int i = 0; i < 100; ++i) {
                const std::string key = "key " + std::to_string(i);
                const int inserted = acp_insert_if_absent_set(set, key.data(), key.size());
                ASSERT_NE(inserted, -1) << acp_error_message();
                won += static_cast<std::uint64_t>(inserted);
            }
            const auto all = exchange(won);
            EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::uint64_t{0}), 100U);
            EXPECT_EQ(acp_size_set(set), 100U);
            EXPECT_EQ(acp_contains_set(set, "key 5", 5), 1);
            EXPECT_EQ(acp_contains_set(set, "key 500", 7), 0);
            const acp_set_it_t it = acp_insert_set(set, "key 5", 5);
            EXPECT_EQ(bytes_of(acp_dereference_set_it(it)), "key 5");
            std::set<std::string> keys;
            for (acp_set_it_t at = acp_begin_set(set); at.elem != ACP_GA_NULL;
                 at = acp_increment_set_it(at)) {
                EXPECT_TRUE(keys.insert(bytes_of(acp_dereference_set_it(at))).second);
            }
            EXPECT_EQ(keys.size(), 100U);
            sync_ranks();
            if (rank_ == 0) {
                EXPECT_EQ(acp_remove_set(set, "key 5", 5), 1);
                EXPECT_EQ(acp_remove_set(set, "key 5", 5), 0);
                EXPECT_EQ(acp_contains_set(set, "key 5", 5), 0);
            }
        });
}

// Containers on all ranks, and containers on one rank, whose entries the ranks of its node access
// directly.
TEST_F(HashedTest, many_keys_of_a_set_and_a_multiset_are_as_each_alone) {
    constexpr std::size_t count = 150;
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < count; ++i)
        keys.push_back("rank " + std::to_string(rank_) + ", key " + std::to_string(i));
    const auto entries = [&](std::size_t first, std::size_t end, std::uint64_t number) {
        std::vector<acp_entry_t> some;
        for (std::size_t i = first; i < end; ++i)
            some.push_back({keys[i].data(), keys[i].size(), nullptr, 0, number, -7});
        return some;
    };
    const int first_rank = 0;
    for (const int ranks : {0, 1}) {
        with_shared<acp_set_t>(
            [&] { return acp_create_set(ranks, &first_rank, 1, 0); }, acp_destroy_set,
            [&](acp_set_t set) {
                auto some = entries(0, 100, 0);
                EXPECT_EQ(acp_insert_many_set(set, 100, some.data()), 100) << acp_error_message();
                auto all = entries(0, count, 0);
                EXPECT_EQ(acp_find_many_set(set, count, all.data()), 100) << acp_error_message();
                EXPECT_EQ(all[99].result, 1);
                EXPECT_EQ(all[100].result, 0);
                EXPECT_EQ(acp_insert_many_set(set, count, all.data()), 50);
                EXPECT_EQ(all[99].result, 0);
                EXPECT_EQ(acp_remove_many_set(set, 100, some.data()), 100);
                EXPECT_EQ(acp_find_many_set(set, count, all.data()), 50);
            });
        with_shared<acp_multiset_t>(
            [&] { return acp_create_multiset(ranks, &first_rank, 1, 0); }, acp_destroy_multiset,
            [&](acp_multiset_t set) {
                auto some = entries(0, 100, 3);
                EXPECT_EQ(acp_add_many_multiset(set, 100, some.data()), 100) << acp_error_message();
                EXPECT_EQ(some[99].number, 3U);
                some = entries(0, 100, 4);
                EXPECT_EQ(acp_add_many_multiset(set, 100, some.data()), 100);
                EXPECT_EQ(some[99].number, 7U);
                EXPECT_EQ(acp_remove_all_multiset(set, keys[5].data(), keys[5].size()), 1);
                auto all = entries(0, count, 77);
                EXPECT_EQ(acp_find_many_multiset(set, count, all.data()), 99)
                    << acp_error_message();
                EXPECT_EQ(all[4].number, 7U);
                EXPECT_EQ(all[5].result, 0);
                EXPECT_EQ(all[5].number, 0U);
                EXPECT_EQ(all[100].result, 0);
            });
    }
}

TEST_F(HashedTest, a_multiset_counts_what_all_ranks_insert) {
    with_shared<acp_multiset_t>(
        [&] { return acp_create_multiset(0, nullptr, 1, 0); }, acp_destroy_multiset,
        [this](acp_multiset_t set) {
            const auto ranks = static_cast<std::uint64_t>(procs_);
            for (int round = 0; round < 200; ++round) {
                const std::string key = "key " + std::to_string(round % 4);
                ASSERT_NE(acp_insert_multiset(set, key.data(), key.size()).elem, ACP_GA_NULL)
                    << acp_error_message();
            }
            sync_ranks();
            EXPECT_EQ(acp_retrieve_multiset(set, "key 1", 5), 50 * ranks);
            EXPECT_EQ(acp_retrieve_multiset(set, "key 9", 5), 0U);
            EXPECT_EQ(acp_size_multiset(set), 4U);
            sync_ranks();
            for (int i = 0; i < 50; ++i) ASSERT_EQ(acp_remove_multiset(set, "key 1", 5), 1);
            sync_ranks();
            EXPECT_EQ(acp_retrieve_multiset(set, "key 1", 5), 0U);
            EXPECT_EQ(acp_remove_multiset(set, "key 1", 5), 0);
            EXPECT_EQ(acp_size_multiset(set), 3U);
            sync_ranks();
            if (rank_ == 0) {
                EXPECT_EQ(acp_remove_all_multiset(set, "key 2", 5), 1);
                EXPECT_EQ(acp_remove_all_multiset(set, "key 2", 5), 0);
                EXPECT_EQ(acp_add_multiset(set, "key 2", 5, 7), 7U);
                EXPECT_EQ(acp_add_multiset(set, "key 2", 5, 3), 10U);
            }
        });
}

// A replacement inserts no entry, so the cleared map is empty.
TEST_F(HashedTest, clearing_erases_entries_whose_values_are_replaced_at_the_same_time) {
    with_map(2, [this](acp_map_t map) {
        constexpr std::uint64_t keys = 20;
        const std::string values[2] = {"a value", "another value"};
        for (int round = 0; round < 40; ++round) {
            for (std::uint64_t i = 0; rank_ == 0 && i < keys; ++i)
                ASSERT_EQ(insert(map, std::to_string(i), values[0]), 1) << acp_error_message();
            sync_ranks();
            if (rank_ == 0) {
                EXPECT_EQ(acp_clear_map(map), 0) << acp_error_message();
                EXPECT_EQ(acp_size_map(map), 0U);
                while (acp_size_map(map) != 0) ASSERT_EQ(acp_clear_map(map), 0);
            }
            for (std::uint64_t gone = 0, turn = 0; rank_ != 0 && gone < keys; ++turn) {
                gone = 0;
                for (std::uint64_t i = 0; i < keys; ++i) {
                    const std::string key = std::to_string(i);
                    std::string before = values[turn % 2];
                    const std::string& after = values[1 - turn % 2];
                    const acp_entry_t entry{key.data(),    key.size(), before.data(),
                                            before.size(), 0,          0};
                    const int result = acp_replace_map(map, &entry, after.data(), after.size());
                    ASSERT_NE(result, -1) << acp_error_message();
                    if (result == ACP_NONE) ++gone;
                }
            }
            sync_ranks();
        }
    });
}

TEST_F(HashedTest, a_multimap_holds_several_entries_of_a_key) {
    with_shared<acp_multimap_t>(
        [&] { return acp_create_multimap(0, nullptr, 1, 0); }, acp_destroy_multimap,
        [this](acp_multimap_t map) {
            for (int i = 0; i < 30; ++i) {
                const std::string value = std::to_string(rank_ * 1'000 + i);
                ASSERT_NE(acp_insert_multimap(map, "key", 3, value.data(), value.size()).elem,
                          ACP_GA_NULL)
                    << acp_error_message();
            }
            sync_ranks();
            EXPECT_EQ(acp_count_multimap(map, "key", 3), 30 * procs_);
            std::set<std::string> values;
            const acp_multimap_ib_t first = acp_find_multimap(map, "key", 3);
            ASSERT_EQ(first.success, 1);
            for (acp_multimap_it_t it = first.it; it.elem != ACP_GA_NULL;
                 it = acp_increment_key_multimap_it(it)) {
                char room[32];
                std::size_t bytes = sizeof room;
                ASSERT_EQ(acp_read_multimap_it(it, room, &bytes), 1) << acp_error_message();
                EXPECT_TRUE(values.insert(std::string(room, bytes)).second);
                EXPECT_EQ(acp_read_multimap_it(it, nullptr, &bytes), -1);
                EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
            }
            EXPECT_EQ(values.size(), 30U * static_cast<std::size_t>(procs_));
            sync_ranks();
            if (rank_ == 0) {
                EXPECT_EQ(acp_remove_multimap(map, "key", 3), 30 * procs_);
                EXPECT_EQ(acp_find_multimap(map, "key", 3).success, 0);
            }
        });
}

TEST_F(HashedTest, no_entry_of_another_key_follows_one_that_was_erased) {
    for (int owner = 0; owner < procs_; ++owner) {
        const acp_multimap_t map = acp_create_multimap(1, &owner, 1, owner);
        for (int round = 0; round < 50; ++round) {
            const acp_multimap_it_t first = acp_insert_multimap(map, "key", 3, "1", 1);
            ASSERT_NE(first.elem, ACP_GA_NULL) << acp_error_message();
            ASSERT_EQ(acp_remove_multimap(map, "key", 3), 1) << acp_error_message();
            // One of the later entries reuses the memory of the erased entry.
            const std::string other = "k" + std::to_string(10 + round);
            for (int i = 0; i < 40; ++i) {
                ASSERT_NE(acp_insert_multimap(map, other.data(), 3, "2", 1).elem, ACP_GA_NULL);
                if (i == 20) {
                    ASSERT_EQ(acp_remove_multimap(map, other.data(), 3), 21);
                }
            }
            EXPECT_EQ(acp_increment_key_multimap_it(first).elem, ACP_GA_NULL) << round;
        }
        EXPECT_EQ(acp_destroy_multimap(map), 0) << acp_error_message();
    }
}

TEST_F(HashedTest, a_multimap_holds_several_entries_of_a_long_key) {
    const acp_multimap_t map = acp_create_multimap(1, &rank_, 1, rank_);
    ASSERT_NE(map.ga, ACP_GA_NULL) << acp_error_message();
    const std::vector<std::string> keys{std::string(975, 'a'), std::string(976, 'a')};
    for (int i = 0; i < 5; ++i) {
        for (const std::string& key : keys) {
            const std::string value = "value " + std::to_string(i);
            ASSERT_NE(
                acp_insert_multimap(map, key.data(), key.size(), value.data(), value.size()).elem,
                ACP_GA_NULL)
                << acp_error_message();
        }
    }
    const std::string long_key(977, 'b');
    EXPECT_EQ(acp_count_multimap(map, long_key.data(), long_key.size()), -1);
    expect_refused(ACP_ERR_LIMIT, {"acp_count_multimap", "976 bytes are the most"});
    EXPECT_EQ(acp_find_multimap(map, long_key.data(), long_key.size()).success, -1);
    for (const std::string& key : keys) {
        EXPECT_EQ(acp_count_multimap(map, key.data(), key.size()), 5) << acp_error_message();
        std::set<std::string> values;
        const acp_multimap_ib_t first = acp_find_multimap(map, key.data(), key.size());
        ASSERT_EQ(first.success, 1);
        for (acp_multimap_it_t it = first.it; it.elem != ACP_GA_NULL;
             it = acp_increment_key_multimap_it(it)) {
            EXPECT_EQ(bytes_of(acp_dereference_multimap_it(it).first), key);
            char room[32];
            std::size_t bytes = sizeof room;
            ASSERT_EQ(acp_read_multimap_it(it, room, &bytes), 1) << acp_error_message();
            EXPECT_TRUE(values.insert(std::string(room, bytes)).second);
        }
        EXPECT_EQ(values.size(), 5U);
        acp_multimap_it_t foreign = first.it;
        foreign.rank = 1;
        EXPECT_EQ(acp_increment_key_multimap_it(foreign).rank, -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_increment_key_multimap_it"});
        std::size_t bytes = 0;
        EXPECT_EQ(acp_read_multimap_it(foreign, nullptr, &bytes), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_read_multimap_it"});
        EXPECT_EQ(acp_remove_multimap(map, key.data(), key.size()), 5) << acp_error_message();
        EXPECT_EQ(acp_count_multimap(map, key.data(), key.size()), 0);
    }
    EXPECT_EQ(acp_destroy_multimap(map), 0) << acp_error_message();
}

// The test an_iterator_that_was_changed_is_refused for the other three kinds of container.
TEST_F(HashedTest, an_iterator_of_another_container_is_refused_by_each_kind) {
    // Gives iterators of one container the identity of another one, and passes them to each call.
    const auto refuse = [](auto one, auto other, auto it, const auto& set_container,
                           const auto& calls) {
        ASSERT_NE(it.elem, ACP_GA_NULL) << acp_error_message();
        set_container(it, other);
        for (const auto& call : calls) {
            EXPECT_FALSE(call(it));
            expect_refused(ACP_ERR_ARGUMENT, {"none of this container"});
        }
        set_container(it, one);
        EXPECT_TRUE(calls.front()(it)) << acp_error_message();
    };
    for (int owner = 0; owner < procs_; ++owner) {
        const auto scan_of = [](const auto& scan) {
            return [&](auto it) {
                acp_entry_t entry{};
                std::uint64_t room[8];
                return scan(&it, 1, &entry, room, sizeof room) >= 0;
            };
        };
        const acp_set_t set = acp_create_set(1, &owner, 1, owner);
        const acp_set_t other_set = acp_create_set(1, &owner, 1, owner);
        using SetCalls = std::vector<std::function<bool(acp_set_it_t)>>;
        refuse(
            set, other_set, acp_insert_set(set, "key", 3),
            [](acp_set_it_t& it, acp_set_t of) { it.set = of; },
            SetCalls{[](acp_set_it_t it) { return acp_increment_set_it(it).rank >= 0; },
                     scan_of(acp_scan_set),
                     [](acp_set_it_t it) { return acp_erase_set(it).rank >= 0; }});
        const acp_multiset_t counts = acp_create_multiset(1, &owner, 1, owner);
        const acp_multiset_t other_counts = acp_create_multiset(1, &owner, 1, owner);
        using MultisetCalls = std::vector<std::function<bool(acp_multiset_it_t)>>;
        refuse(
            counts, other_counts, acp_insert_multiset(counts, "key", 3),
            [](acp_multiset_it_t& it, acp_multiset_t of) { it.set = of; },
            MultisetCalls{
                [](acp_multiset_it_t it) { return acp_increment_multiset_it(it).rank >= 0; },
                scan_of(acp_scan_multiset),
                [](acp_multiset_it_t it) { return acp_erase_multiset(it).rank >= 0; }});
        const acp_multimap_t map = acp_create_multimap(1, &owner, 1, owner);
        const acp_multimap_t other_map = acp_create_multimap(1, &owner, 1, owner);
        using MultimapCalls = std::vector<std::function<bool(acp_multimap_it_t)>>;
        refuse(
            map, other_map, acp_insert_multimap(map, "key", 3, "value", 5),
            [](acp_multimap_it_t& it, acp_multimap_t of) { it.map = of; },
            MultimapCalls{
                [](acp_multimap_it_t it) { return acp_increment_multimap_it(it).rank >= 0; },
                [](acp_multimap_it_t it) { return acp_increment_key_multimap_it(it).rank >= 0; },
                [](acp_multimap_it_t it) {
                    std::size_t bytes = 0;
                    return acp_read_multimap_it(it, nullptr, &bytes) >= 0;
                },
                scan_of(acp_scan_multimap),
                [](acp_multimap_it_t it) { return acp_erase_multimap(it).rank >= 0; }});
        for (const acp_set_t each : {set, other_set}) EXPECT_EQ(acp_destroy_set(each), 0);
        for (const acp_multiset_t each : {counts, other_counts})
            EXPECT_EQ(acp_destroy_multiset(each), 0);
        for (const acp_multimap_t each : {map, other_map}) EXPECT_EQ(acp_destroy_multimap(each), 0);
    }
}

TEST_F(HashedTest, a_multimap_counts_and_finds_any_number_of_entries_of_a_key) {
    const int last[] = {procs_ - 1};
    const acp_multimap_t map = acp_create_multimap(1, last, 1, procs_ - 1);
    std::int64_t there = 0;
    for (const std::int64_t wanted : {0, 1, 31, 32, 33, 63, 64, 65, 300}) {
        for (; there < wanted; ++there)
            ASSERT_NE(acp_insert_multimap(map, "k", 1, &there, sizeof there).elem, ACP_GA_NULL);
        ASSERT_NE(acp_insert_multimap(map, "another", 7, "v", 1).elem, ACP_GA_NULL);
        EXPECT_EQ(acp_count_multimap(map, "k", 1), wanted) << acp_error_message();
        std::set<std::int64_t> values;
        acp_multimap_it_t it = acp_find_multimap(map, "k", 1).it;
        for (; values.size() <= 300 && it.elem != ACP_GA_NULL;
             it = acp_increment_key_multimap_it(it)) {
            std::int64_t value = -1;
            std::size_t bytes = sizeof value;
            EXPECT_EQ(acp_read_multimap_it(it, &value, &bytes), 1) << acp_error_message();
            EXPECT_TRUE(values.insert(value).second) << value;
        }
        EXPECT_EQ(values.size(), static_cast<std::size_t>(wanted));
    }
    EXPECT_EQ(acp_remove_multimap(map, "k", 1), 300);
    EXPECT_EQ(acp_count_multimap(map, "k", 1), 0);
    EXPECT_EQ(acp_destroy_multimap(map), 0);
}

TEST_F(HashedTest, a_container_that_is_given_twice_stays_as_it_is) {
    const int last[] = {procs_ - 1};
    const acp_multimap_t map = acp_create_multimap(1, last, 1, procs_ - 1);
    ASSERT_NE(acp_insert_multimap(map, "k", 1, "v", 1).elem, ACP_GA_NULL) << acp_error_message();
    const auto calls = {acp_merge_multimap,       acp_merge_local_multimap, acp_move_multimap,
                        acp_move_local_multimap,  acp_assign_multimap,      acp_swap_multimap,
                        acp_assign_local_multimap};
    for (const auto& call : calls) {
        EXPECT_EQ(call(map, map), 0) << acp_error_message();
        EXPECT_EQ(acp_count_multimap(map, "k", 1), 1);
        EXPECT_EQ(acp_size_multimap(map), 1U);
    }
    sync_ranks();
    EXPECT_EQ(acp_destroy_multimap(map), 0) << acp_error_message();
    sync_ranks();
    for (const auto& call : calls) {
        EXPECT_EQ(call(map, map), -1);
        expect_refused(ACP_ERR_STALE, {"multimap"});
    }
}

TEST_F(HashedTest, an_assignment_from_a_missing_container_clears_nothing) {
    const acp_map_t map = acp_create_map(1, &rank_, 1, rank_);
    const acp_map_t gone = acp_create_map(1, &rank_, 1, rank_);
    ASSERT_EQ(insert(map, "k", "v"), 1) << acp_error_message();
    ASSERT_EQ(acp_destroy_map(gone), 0) << acp_error_message();
    for (const auto& call : {acp_assign_map, acp_move_map, acp_merge_map, acp_swap_map}) {
        EXPECT_EQ(call(map, gone), -1);
        expect_refused(ACP_ERR_STALE, {"map"});
        EXPECT_EQ(acp_size_map(map), 1U);
    }
    EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
}

// Each rank except the one that swaps has used the container before, and so has cached its ranks.
TEST_F(HashedTest, the_end_is_that_of_the_ranks_a_container_has_now) {
    const int first[] = {0};
    with_shared<acp_map_t>([&] { return acp_create_map(1, first, 1, 0); }, acp_destroy_map,
                           [&](acp_map_t one) {
                               with_map(1, [&](acp_map_t all) {
                                   EXPECT_EQ(acp_end_map(one).rank, 1);
                                   EXPECT_EQ(acp_end_map(all).rank, procs_);
                                   EXPECT_EQ(acp_find_map(one, "no", 2).success, 0);
                                   sync_ranks();
                                   if (rank_ == procs_ - 1) {
                                       EXPECT_EQ(acp_swap_map(one, all), 0) << acp_error_message();
                                   }
                                   sync_ranks();
                                   EXPECT_EQ(acp_end_map(one).rank, procs_) << acp_error_message();
                                   EXPECT_EQ(acp_end_map(all).rank, 1) << acp_error_message();
                                   EXPECT_EQ(acp_find_map(one, "no", 2).it.rank, procs_);
                                   EXPECT_EQ(acp_find_map(all, "no", 2).it.rank, 1);
                                   acp_map_it_t it = acp_begin_map(one);
                                   EXPECT_EQ(it.rank, acp_end_map(one).rank)
                                       << "an empty map begins at its end";
                               });
                           });
}

TEST_F(HashedTest, counts_of_multisets_are_added_when_they_are_merged_and_moved) {
    if (rank_ != 0) return;
    const int last[] = {procs_ - 1};
    const acp_multiset_t one = acp_create_multiset(1, last, 2, 0);
    const acp_multiset_t two = acp_create_multiset(0, nullptr, 2, 0);
    ASSERT_NE(one.ga, ACP_GA_NULL) << acp_error_message();
    ASSERT_NE(two.ga, ACP_GA_NULL) << acp_error_message();
    const auto keys = {std::string("both"), std::string("first"), std::string("second")};
    const auto insert_times = [](acp_multiset_t set, const std::string& key, int times) {
        for (int i = 0; i < times; ++i)
            EXPECT_NE(acp_insert_multiset(set, key.data(), key.size()).elem, ACP_GA_NULL)
                << acp_error_message();
    };
    const auto expect_counts = [&](acp_multiset_t set, const std::vector<std::uint64_t>& counts) {
        auto expected = counts.begin();
        for (const std::string& key : keys)
            EXPECT_EQ(acp_retrieve_multiset(set, key.data(), key.size()), *expected++) << key;
    };
    for (const std::string& key : keys) {
        if (key[0] != 's') insert_times(one, key, 2);
        if (key[0] != 'f') insert_times(two, key, 3);
    }
    EXPECT_EQ(acp_merge_multiset(one, two), 0) << acp_error_message();
    expect_counts(one, {5, 2, 3});
    expect_counts(two, {3, 0, 3});
    EXPECT_EQ(acp_move_multiset(one, two), 0) << acp_error_message();
    expect_counts(one, {8, 2, 6});
    expect_counts(two, {0, 0, 0});
    EXPECT_EQ(acp_assign_multiset(two, one), 0) << acp_error_message();
    expect_counts(two, {8, 2, 6});
    EXPECT_EQ(acp_destroy_multiset(one), 0) << acp_error_message();
    EXPECT_EQ(acp_destroy_multiset(two), 0) << acp_error_message();
}

TEST_F(HashedTest, maps_are_assigned_merged_moved_and_swapped) {
    if (rank_ != 0) return;
    const acp_map_t one = acp_create_map(0, nullptr, 2, 0);
    const int last[] = {procs_ - 1};
    const acp_map_t two = acp_create_map(1, last, 3, procs_ - 1);
    ASSERT_NE(one.ga, ACP_GA_NULL) << acp_error_message();
    ASSERT_NE(two.ga, ACP_GA_NULL) << acp_error_message();
    std::map<std::string, std::string> first;
    std::map<std::string, std::string> second;
    for (int i = 0; i < 100; ++i) {
        const std::string key = std::to_string(i);
        if (i < 60) first[key] = "one";
        if (i >= 40) second[key] = i % 10 == 0 ? std::string(2'000, 't') : "two";
    }
    for (const auto& [key, value] : first) ASSERT_EQ(insert(one, key, value), 1);
    for (const auto& [key, value] : second) ASSERT_EQ(insert(two, key, value), 1);
    EXPECT_EQ(acp_merge_map(one, two), 0) << acp_error_message();
    auto merged = first;
    merged.insert(second.begin(), second.end());
    EXPECT_EQ(content_of(one), merged);
    EXPECT_EQ(content_of(two), second);
    EXPECT_EQ(acp_swap_map(one, two), 0) << acp_error_message();
    EXPECT_EQ(content_of(one), second);
    EXPECT_EQ(content_of(two), merged);
    EXPECT_EQ(acp_assign_map(one, two), 0) << acp_error_message();
    EXPECT_EQ(content_of(one), merged);
    EXPECT_EQ(acp_clear_map(one), 0) << acp_error_message();
    EXPECT_EQ(acp_size_map(one), 0U);
    EXPECT_EQ(acp_move_map(one, two), 0) << acp_error_message();
    EXPECT_EQ(content_of(one), merged);
    EXPECT_EQ(acp_size_map(two), 0U);
    EXPECT_EQ(insert(two, "5", "other"), 1);
    EXPECT_EQ(insert(two, "new", "other"), 1);
    EXPECT_EQ(acp_move_map(one, two), 0) << acp_error_message();
    merged["new"] = "other";
    EXPECT_EQ(content_of(one), merged) << "it keeps what it has";
    EXPECT_EQ(acp_size_map(two), 0U);
    EXPECT_EQ(acp_assign_map(one, one), 0) << acp_error_message();
    EXPECT_EQ(content_of(one), merged);
    EXPECT_EQ(acp_destroy_map(one), 0) << acp_error_message();
    EXPECT_EQ(acp_destroy_map(two), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
