// SPDX-License-Identifier: BSD-3-Clause
// Calls on two hashed containers while other ranks use them: a moved entry is always in one of
// both, and after a swap by one rank all ranks find the swapped content.
#include <atomic>
#include <cstring>
#include <map>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "conformance/hashed_fixture.hpp"

namespace acp::test {
namespace {

class HashedPairTest : public HashedTest {
protected:
    // Makes both maps with one seed, so that a key has the same place in both.
    template <typename Use>
    void with_two_maps(const Use& use) {
        const auto make = [&] {
            acp_hashed_options_t options{};
            options.rank = procs_ - 1;
            options.num_slots = 2;
            options.hash = ACP_HASH_XXH3;
            return acp_create_map_with(&options);
        };
        with_shared<acp_map_t>(make, acp_destroy_map, [&](acp_map_t one) {
            with_shared<acp_map_t>(make, acp_destroy_map,
                                   [&](acp_map_t other) { use(one, other); });
        });
    }

    static void count_keys(acp_map_t map, std::map<std::string, int>& seen) {
        for (const auto& [key, value] : content_of(map)) {
            EXPECT_EQ(value, "value of " + key);
            ++seen[key];
        }
    }
};

TEST_F(HashedPairTest, an_entry_that_others_insert_during_a_move_is_in_one_of_both) {
    for (int mover = 0; mover < procs_; ++mover) {
        with_two_maps([&](acp_map_t into, acp_map_t from) {
            constexpr std::uint64_t count = 600;
            const auto insert_some = [&](std::uint64_t first) {
                for (std::uint64_t i = first; i < first + count; ++i) {
                    const std::string value = "value of " + own_key(i);
                    ASSERT_EQ(insert(from, own_key(i), value), 1) << acp_error_message();
                }
            };
            insert_some(0);
            ASSERT_EQ(insert(from, own_key(2 * count) + std::string(3'000, 'k'),
                             "value of " + own_key(2 * count) + std::string(3'000, 'k')),
                      1);
            sync_ranks();
            std::binary_semaphore begun{0};
            std::thread inserter([&] {
                begun.release();
                insert_some(count);
            });
            begun.acquire();
            if (rank_ == mover) {
                EXPECT_EQ(acp_move_map(into, from), 0) << acp_error_message();
            }
            inserter.join();
            sync_ranks();
            std::map<std::string, int> seen;
            count_keys(into, seen);
            count_keys(from, seen);
            EXPECT_EQ(seen.size(), (2 * count + 1) * static_cast<std::uint64_t>(procs_));
            for (const auto& [key, times] : seen) EXPECT_EQ(times, 1) << key;
            EXPECT_GE(acp_size_map(into), (count + 1) * static_cast<std::uint64_t>(procs_));
        });
    }
}

TEST_F(HashedPairTest, a_value_that_others_replace_during_a_move_stays) {
    with_two_maps([&](acp_map_t into, acp_map_t from) {
        constexpr std::uint64_t count = 300;
        for (std::uint64_t i = 0; i < count; ++i) {
            ASSERT_EQ(insert(from, own_key(i), "old"), 1) << acp_error_message();
        }
        sync_ranks();
        std::thread changer([&] {
            for (std::uint64_t i = 0; i < count; ++i) {
                ASSERT_GE(assign(from, own_key(i), "the new value"), 0) << acp_error_message();
            }
        });
        if (rank_ == 0) {
            EXPECT_EQ(acp_move_map(into, from), 0) << acp_error_message();
        }
        changer.join();
        sync_ranks();
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto stayed = value_of(from, own_key(i));
            EXPECT_EQ(stayed.value_or(value_of(into, own_key(i)).value_or("lost")),
                      "the new value");
        }
    });
}

TEST_F(HashedPairTest, no_count_changes_when_a_multiset_is_moved_while_others_insert) {
    const auto make = [] { return acp_create_multiset(0, nullptr, 1, 0); };
    const auto use = [&](acp_multiset_t into, acp_multiset_t from) {
        constexpr std::uint64_t keys = 5;
        constexpr std::uint64_t rounds = 400;
        const auto key_of = [](std::uint64_t i) { return "key " + std::to_string(i % keys); };
        const auto insert_all = [&] {
            for (std::uint64_t i = 0; i < keys * rounds; ++i) {
                const std::string key = key_of(i);
                ASSERT_NE(acp_insert_multiset(from, key.data(), key.size()).elem, ACP_GA_NULL)
                    << acp_error_message();
            }
        };
        insert_all();
        sync_ranks();
        std::thread inserter(insert_all);
        if (rank_ == 0) {
            EXPECT_EQ(acp_move_multiset(into, from), 0) << acp_error_message();
        }
        inserter.join();
        sync_ranks();
        for (std::uint64_t i = 0; i < keys; ++i) {
            const std::string key = key_of(i);
            const std::uint64_t moved = acp_retrieve_multiset(into, key.data(), key.size());
            EXPECT_GE(moved, rounds * static_cast<std::uint64_t>(procs_));
            EXPECT_EQ(moved + acp_retrieve_multiset(from, key.data(), key.size()),
                      2 * rounds * static_cast<std::uint64_t>(procs_));
        }
    };
    with_shared<acp_multiset_t>(make, acp_destroy_multiset, [&](acp_multiset_t into) {
        with_shared<acp_multiset_t>(make, acp_destroy_multiset,
                                    [&](acp_multiset_t from) { use(into, from); });
    });
}

TEST_F(HashedPairTest, entries_of_one_key_are_all_moved) {
    const auto make = [] { return acp_create_multimap(0, nullptr, 1, 0); };
    with_shared<acp_multimap_t>(make, acp_destroy_multimap, [&](acp_multimap_t into) {
        with_shared<acp_multimap_t>(make, acp_destroy_multimap, [&](acp_multimap_t from) {
            for (int i = 0; i < 40; ++i) {
                ASSERT_NE(acp_insert_multimap(from, "key", 3, &i, sizeof i).elem, ACP_GA_NULL);
            }
            sync_ranks();
            if (rank_ == 0) {
                EXPECT_EQ(acp_move_multimap(into, from), 0) << acp_error_message();
                EXPECT_EQ(acp_count_multimap(into, "key", 3), 40 * procs_);
                EXPECT_EQ(acp_size_multimap(from), 0U);
            }
        });
    });
}

// Each rank moves the entries that it stores; both maps have the tables of a key on the same rank.
TEST_F(HashedPairTest, each_rank_moves_what_it_stores) {
    with_two_maps([&](acp_map_t into, acp_map_t from) {
        for (std::uint64_t i = 0; i < 100; ++i) {
            ASSERT_EQ(insert(from, own_key(i), "value of " + own_key(i)), 1);
        }
        sync_ranks();
        EXPECT_EQ(acp_move_local_map(into, from), 0) << acp_error_message();
        EXPECT_EQ(acp_size_local_map(from), 0U);
        sync_ranks();
        EXPECT_EQ(acp_size_map(into), 100 * static_cast<std::uint64_t>(procs_));
    });
}

// The scanning rank makes no other call between the swap and the scan from which it could learn of
// the other tables.
TEST_F(HashedPairTest, scans_after_an_exchange_by_another_rank_find_what_each_has_then) {
    const auto scan_one = [](acp_map_it_t& it) {
        acp_entry_t entry{};
        std::uint64_t room[16];
        const std::int64_t some = acp_scan_map(&it, 1, &entry, room, sizeof room);
        EXPECT_EQ(some, 1) << acp_error_message();
        return some == 1 ? std::string(static_cast<const char*>(entry.key), entry.key_size)
                         : std::string();
    };
    for (int swapper = 0; swapper < procs_; ++swapper) {
        with_two_maps([&](acp_map_t one, acp_map_t other) {
            if (rank_ == 0) {
                ASSERT_EQ(insert(one, "key", "1"), 1);
                ASSERT_EQ(insert(other, "key", "2"), 1);
            }
            sync_ranks();
            acp_map_it_t before = acp_begin_map(one);
            acp_map_it_t again = before;
            EXPECT_EQ(scan_one(again), "key");
            sync_ranks();
            if (rank_ == swapper) {
                EXPECT_EQ(acp_swap_map(one, other), 0) << acp_error_message();
            }
            sync_ranks();
            EXPECT_EQ(scan_one(before), "key") << "the place of a key is the same in both";
            EXPECT_EQ(value_of(one, "key"), "2");
        });
    }
}

// Several calls of each kind are in flight before the first result is read.
TEST_F(HashedPairTest,
       calls_that_do_not_wait_find_after_an_exchange_by_another_rank_what_each_has) {
    for (int swapper = 0; swapper < procs_; ++swapper) {
        with_two_maps([&](acp_map_t one, acp_map_t other) {
            constexpr std::size_t count = 8;
            std::vector<std::string> keys;
            for (std::size_t i = 0; i < count; ++i) {
                keys.push_back(own_key(i));
                ASSERT_EQ(insert(one, keys[i], "of one"), 1);
                ASSERT_EQ(value_of(other, keys[i]), std::nullopt);
            }
            sync_ranks();
            if (rank_ == swapper) {
                EXPECT_EQ(acp_swap_map(one, other), 0) << acp_error_message();
            }
            sync_ranks();
            std::vector<acp_reply_t> replies(4 * count);
            std::uint64_t number = 5;
            acp_handle_t last = ACP_HANDLE_NULL;
            for (std::size_t i = 0; i < count; ++i) {
                const std::string& key = keys[i];
                acp_entry_t entry{key.data(), key.size(), &number, sizeof number, number, 0};
                last = acp_start_retrieve_map(other, key.data(), key.size(), &replies[i]);
                last = acp_start_insert_map(one, &entry, &replies[count + i]);
                const std::string counter = "counter " + key;
                entry.key = counter.data();
                entry.key_size = counter.size();
                last = acp_start_fetch_add_map(other, &entry, &replies[2 * count + i]);
                const std::string none = "none " + key;
                last = acp_start_remove_map(one, none.data(), none.size(), &replies[3 * count + i]);
                ASSERT_NE(last, static_cast<acp_handle_t>(ACP_HANDLE_NULL)) << acp_error_message();
            }
            expect_done(last);
            for (std::size_t i = 0; i < count; ++i) {
                const void* value = nullptr;
                std::size_t bytes = 0;
                ASSERT_EQ(acp_result_of_reply(&replies[i], &value, &bytes), 1)
                    << acp_error_message();
                EXPECT_EQ(std::string(static_cast<const char*>(value), bytes), "of one");
                EXPECT_EQ(acp_result_of_reply(&replies[count + i], nullptr, nullptr), 1);
                EXPECT_EQ(acp_result_of_reply(&replies[2 * count + i], nullptr, nullptr), 1);
                EXPECT_EQ(acp_result_of_reply(&replies[3 * count + i], nullptr, nullptr), 0);
                EXPECT_EQ(acp_result_of_reply(&replies[3 * count + i], nullptr, nullptr), 0)
                    << "asked twice";
            }
            sync_ranks();
            EXPECT_EQ(acp_size_map(one), count * static_cast<std::size_t>(procs_));
            EXPECT_EQ(acp_size_map(other), 2 * count * static_cast<std::size_t>(procs_));
            sync_ranks();
        });
    }
}

// Random bytes as a reply that was never started: reading its result accesses no memory outside it.
TEST_F(HashedPairTest, a_reply_of_no_call_is_no_call_on_what_lies_behind_it) {
    int refused = 0;
    for (int byte = 0; byte < 256; ++byte) {
        acp_reply_t reply;
        std::memset(&reply, byte, sizeof reply);
        const int result = acp_result_of_reply(&reply, nullptr, nullptr);
        EXPECT_TRUE(result == -1 || result == 0 || result == 1) << byte;
        refused += result == -1 && acp_errno() == ACP_ERR_STATE ? 1 : 0;
    }
    EXPECT_GE(refused, 2) << "one that is not over, and one that would be asked anew";
}

// The reply then has no result at all, in particular not that of the call before.
TEST_F(HashedPairTest, a_refused_call_leaves_no_result_in_its_reply) {
    const acp_map_t map = acp_create_map(1, &rank_, 1, rank_);
    ASSERT_NE(map.ga, ACP_GA_NULL) << acp_error_message();
    ASSERT_EQ(acp_insert_if_absent_map(map, "key", 3, "value", 5), 1) << acp_error_message();
    acp_reply_t reply{};
    expect_done(acp_start_retrieve_map(map, "key", 3, &reply));
    ASSERT_EQ(acp_result_of_reply(&reply, nullptr, nullptr), 1) << acp_error_message();
    EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
    EXPECT_EQ(acp_start_retrieve_map(map, "key", 3, &reply),
              static_cast<acp_handle_t>(ACP_HANDLE_NULL));
    EXPECT_EQ(acp_result_of_reply(&reply, nullptr, nullptr), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
}

}  // namespace
}  // namespace acp::test
