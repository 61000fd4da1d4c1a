// SPDX-License-Identifier: BSD-3-Clause
// Maps, multimaps, sets and multisets that all ranks use at once: they hold what was put in, each key once or as often as it was
// inserted, wherever the entries lie; every misuse is told and changes nothing.
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

class HashedTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(240);
    }

    void TearDown() override {
        sync_ranks();
        EXPECT_EQ(acp_heap_check(rank_), 0) << acp_error_message();
        RankedTest::TearDown();
    }

    // A container that rank 0 makes and all ranks use; rank 0 destroys it when all are done.
    template <typename Handle, typename Make, typename Destroy, typename Use>
    void with_shared(const Make& make, const Destroy& destroy, const Use& use) {
        Handle handle{};
        if (rank_ == 0) {
            handle = make();
            ASSERT_NE(handle.ga, ACP_GA_NULL) << acp_error_message();
        }
        handle.ga = exchange(handle.ga)[0];
        handle.id = exchange(handle.id)[0];
        handle.num_ranks = exchange(handle.num_ranks)[0];
        handle.num_slots = exchange(handle.num_slots)[0];
        use(handle);
        sync_ranks();
        if (rank_ == 0) {
            EXPECT_EQ(destroy(handle), 0) << acp_error_message();
        }
        sync_ranks();
    }

    template <typename Use>
    void with_map(int slots, const Use& use) {
        with_shared<acp_map_t>([&] { return acp_create_map(0, nullptr, slots, procs_ - 1); },
                               acp_destroy_map, use);
    }

    // The bytes of an element of any rank.
    static std::string bytes_of(const acp_element_t& element) {
        std::string bytes(element.size, '\0');
        if (element.size != 0) {
            expect_done(acp_get(bytes.data(), element.ga, element.size, ACP_HANDLE_NULL));
        }
        return bytes;
    }

    static int insert(acp_map_t map, const std::string& key, const std::string& value) {
        return acp_insert_if_absent_map(map, key.data(), key.size(), value.data(), value.size());
    }

    static int assign(acp_map_t map, const std::string& key, const std::string& value) {
        return acp_insert_or_assign_map(map, key.data(), key.size(), value.data(), value.size());
    }

    static std::optional<std::string> value_of(acp_map_t map, const std::string& key) {
        std::string value(64, '\0');
        for (;;) {
            std::size_t bytes = value.size();
            const int found = acp_retrieve_map(map, key.data(), key.size(), value.data(), &bytes);
            EXPECT_NE(found, -1) << acp_error_message();
            if (found != 1) return std::nullopt;
            const bool is_whole = bytes <= value.size();
            value.resize(bytes);
            if (is_whole) return value;
        }
    }

    static int remove(acp_map_t map, const std::string& key) {
        return acp_remove_map(map, key.data(), key.size());
    }

    static std::map<std::string, std::string> content_of(acp_map_t map) {
        std::map<std::string, std::string> content;
        for (acp_map_it_t it = acp_begin_map(map); it.elem != ACP_GA_NULL;
             it = acp_increment_map_it(it)) {
            const acp_pair_t entry = acp_dereference_map_it(it);
            EXPECT_TRUE(content.emplace(bytes_of(entry.first), bytes_of(entry.second)).second)
                << "an entry came twice in a map that nobody changed";
        }
        return content;
    }

    static void expect_refused(int code, const std::vector<std::string>& parts) {
        EXPECT_EQ(acp_errno(), code) << acp_error_message();
        for (const std::string& part : parts) {
            EXPECT_NE(std::string(acp_error_message()).find(part), std::string::npos)
                << part << " is not in: " << acp_error_message();
        }
    }

    [[nodiscard]] std::string own_key(std::uint64_t number) const {
        return "rank " + std::to_string(rank_) + " key " + std::to_string(number);
    }
};

// A length that is often short, sometimes beyond one message.
std::string random_value(Random& random) {
    const std::size_t bytes = random.chance(5) ? 500 + random.below(5'000) : random.below(60);
    return std::string(bytes, static_cast<char>('a' + random.below(26)));
}

TEST_F(HashedTest, a_map_is_as_a_map_of_the_library_while_all_ranks_change_it) {
    with_map(2, [this](acp_map_t map) {
        Random random(static_cast<std::uint64_t>(rank_) + 77);
        std::map<std::string, std::string> model;
        for (int i = 0; i < 2'000; ++i) {
            const std::string key = own_key(random.below(200));
            const auto known = model.find(key);
            switch (random.below(5)) {
                case 0:
                case 1: {
                    const std::string value = random_value(random);
                    ASSERT_EQ(insert(map, key, value), known == model.end() ? 1 : 0)
                        << acp_error_message();
                    model.emplace(key, value);
                    break;
                }
                case 2: {
                    const std::string value = random_value(random);
                    ASSERT_EQ(assign(map, key, value), 0) << acp_error_message();
                    model[key] = value;
                    break;
                }
                case 3:
                    ASSERT_EQ(remove(map, key), known == model.end() ? 0 : 1)
                        << acp_error_message();
                    model.erase(key);
                    break;
                default: {
                    const auto value = value_of(map, key);
                    ASSERT_EQ(value.has_value(), known != model.end()) << key;
                    if (value) {
                        ASSERT_EQ(*value, known->second);
                    }
                    break;
                }
            }
        }
        sync_ranks();
        const auto all = content_of(map);
        std::size_t own = 0;
        for (const auto& [key, value] : all) {
            if (key.rfind("rank " + std::to_string(rank_) + " ", 0) != 0) continue;
            ++own;
            ASSERT_EQ(model.count(key), 1U) << key;
            EXPECT_EQ(model[key], value);
        }
        EXPECT_EQ(own, model.size());
        EXPECT_EQ(acp_size_map(map), all.size());
        EXPECT_EQ(acp_empty_map(map), all.empty() ? 1 : 0);
        const auto local = exchange(acp_size_local_map(map));
        EXPECT_EQ(std::accumulate(local.begin(), local.end(), std::size_t{0}), all.size());
    });
}

TEST_F(HashedTest, of_all_ranks_that_insert_a_key_one_does) {
    with_map(1, [this](acp_map_t map) {
        std::uint64_t won = 0;
        for (int i = 0; i < 300; ++i) {
            const int inserted = insert(map, "key " + std::to_string(i), std::to_string(rank_));
            ASSERT_NE(inserted, -1) << acp_error_message();
            won += static_cast<std::uint64_t>(inserted);
        }
        const auto all = exchange(won);
        EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::uint64_t{0}), 300U);
        EXPECT_EQ(acp_size_map(map), 300U);
    });
}

TEST_F(HashedTest, sums_of_all_ranks_are_exact) {
    with_map(1, [this](acp_map_t map) {
        Random random(static_cast<std::uint64_t>(rank_) + 5);
        std::vector<std::uint64_t> added(7);
        const auto act = [&](std::vector<std::uint64_t>& sums, Random own) {
            for (int i = 0; i < 500; ++i) {
                const std::uint64_t which = own.below(sums.size());
                const std::uint64_t addend = own.below(1'000);
                const std::string key = "sum " + std::to_string(which);
                ASSERT_NE(acp_fetch_add_map(map, key.data(), key.size(), addend, nullptr), -1)
                    << acp_error_message();
                sums[which] += addend;
            }
        };
        std::vector<std::uint64_t> of_thread(7);
        std::thread other(
            [&] { act(of_thread, Random(static_cast<std::uint64_t>(rank_) + 1'000)); });
        act(added, random);
        other.join();
        sync_ranks();
        for (std::size_t which = 0; which < added.size(); ++which) {
            const auto all = exchange(added[which] + of_thread[which]);
            const std::uint64_t sum = std::accumulate(all.begin(), all.end(), std::uint64_t{0});
            const auto value = value_of(map, "sum " + std::to_string(which));
            ASSERT_TRUE(value.has_value());
            std::uint64_t number = 0;
            ASSERT_EQ(value->size(), sizeof number);
            std::memcpy(&number, value->data(), sizeof number);
            EXPECT_EQ(number, sum);
        }
    });
}

TEST_F(HashedTest, values_are_exchanged_where_they_are_as_expected) {
    with_map(4, [this](acp_map_t map) {
        const std::string key = own_key(0);
        std::uint64_t expected = 1;
        EXPECT_EQ(acp_compare_exchange_map(map, key.data(), key.size(), &expected, 2), 2);
        std::uint64_t old = 9;
        EXPECT_EQ(acp_fetch_add_map(map, key.data(), key.size(), 5, &old), 0);
        EXPECT_EQ(old, 0U);
        EXPECT_EQ(acp_compare_exchange_map(map, key.data(), key.size(), &expected, 2), 0);
        EXPECT_EQ(expected, 5U);
        EXPECT_EQ(acp_compare_exchange_map(map, key.data(), key.size(), &expected, 2), 1);
        EXPECT_EQ(acp_fetch_add_map(map, key.data(), key.size(), 1, &old), 1);
        EXPECT_EQ(old, 2U);

        const std::string word = own_key(1);
        ASSERT_EQ(insert(map, word, "abc"), 1);
        EXPECT_EQ(acp_fetch_add_map(map, word.data(), word.size(), 1, nullptr), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_fetch_add_map", "8 bytes"});
        char before[] = "abc";
        const acp_entry_t entry{word.data(), word.size(), before, 3, 0, 0};
        EXPECT_EQ(acp_replace_map(map, &entry, "longer than before", 18), 1);
        EXPECT_EQ(value_of(map, word), "longer than before");
        EXPECT_EQ(acp_replace_map(map, &entry, "x", 1), 0);
        EXPECT_EQ(value_of(map, word), "longer than before");
        const std::string nobody = own_key(2);
        const acp_entry_t absent{nobody.data(), nobody.size(), before, 3, 0, 0};
        EXPECT_EQ(acp_replace_map(map, &absent, "x", 1), 2);
    });
}

TEST_F(HashedTest, long_keys_and_values_are_kept) {
    with_map(2, [this](acp_map_t map) {
        for (const std::size_t bytes :
             {std::size_t{0}, std::size_t{1}, std::size_t{800}, std::size_t{1'000},
              std::size_t{1'100}, std::size_t{70'000}, std::size_t{1} << 20}) {
            const std::string key = own_key(0) + std::string(bytes, 'k');
            const std::string value(bytes, static_cast<char>('A' + rank_));
            ASSERT_EQ(insert(map, key, value), 1) << bytes << ": " << acp_error_message();
            EXPECT_EQ(insert(map, key, value + "!"), 0) << acp_error_message();
            EXPECT_EQ(value_of(map, key), value) << bytes;
            ASSERT_EQ(assign(map, key, value + "!"), 0) << acp_error_message();
            EXPECT_EQ(value_of(map, key), value + "!") << bytes;
            const acp_map_ib_t found = acp_find_map(map, key.data(), key.size());
            ASSERT_EQ(found.success, 1) << acp_error_message();
            const acp_pair_t entry = acp_dereference_map_it(found.it);
            EXPECT_EQ(bytes_of(entry.first), key);
            EXPECT_EQ(bytes_of(entry.second), value + "!");
            EXPECT_EQ(remove(map, key), 1) << acp_error_message();
            EXPECT_EQ(remove(map, key), 0) << acp_error_message();
        }
    });
}

TEST_F(HashedTest, iterators_find_each_entry_once_and_erase_it) {
    with_map(2, [this](acp_map_t map) {
        for (std::uint64_t i = 0; i < 200; ++i) ASSERT_EQ(insert(map, own_key(i), "v"), 1);
        sync_ranks();
        std::set<std::string> local;
        const acp_map_it_t end = acp_end_local_map(map);
        for (acp_map_it_t it = acp_begin_local_map(map); it.elem != end.elem;
             it = acp_increment_map_it(it)) {
            EXPECT_EQ(acp_query_rank(it.elem), rank_);
            EXPECT_TRUE(local.insert(bytes_of(acp_dereference_map_it(it).first)).second);
        }
        EXPECT_EQ(local.size(), acp_size_local_map(map));
        std::set<std::string> visited;
        const auto visit = [](const void* key, size_t key_size, const void* /*value*/,
                              size_t value_size, void* argument) {
            EXPECT_EQ(value_size, 1U);
            static_cast<std::set<std::string>*>(argument)->insert(
                std::string(static_cast<const char*>(key), key_size));
            return 0;
        };
        EXPECT_EQ(acp_for_each_local_map(map, visit, &visited),
                  static_cast<std::int64_t>(local.size()));
        EXPECT_EQ(visited, local);
        sync_ranks();
        // Each rank erases what lies on it, by iterators.
        for (acp_map_it_t it = acp_begin_local_map(map); it.elem != end.elem;) {
            const acp_map_it_t gone = it;
            it = acp_erase_map(it);
            ASSERT_GE(it.rank, 0) << acp_error_message();
            (void)acp_erase_map(gone);
            expect_refused(ACP_ERR_STALE, {"acp_erase_map"});
        }
        EXPECT_EQ(acp_size_local_map(map), 0U);
    });
}

TEST_F(HashedTest, many_keys_at_once_are_as_each_alone) {
    with_map(2, [this](acp_map_t map) {
        constexpr std::size_t count = 700;
        std::vector<std::string> keys;
        std::vector<std::string> values;
        for (std::size_t i = 0; i < count; ++i) {
            keys.push_back(own_key(i));
            values.push_back(i % 50 == 0 ? std::string(3'000, 'x') : "value " + std::to_string(i));
        }
        const auto entries = [&](std::vector<std::string>& texts) {
            std::vector<acp_entry_t> all(count);
            for (std::size_t i = 0; i < count; ++i) {
                all[i] = {keys[i].data(), keys[i].size(), texts[i].data(), texts[i].size(), 0, -7};
            }
            return all;
        };
        auto all = entries(values);
        ASSERT_EQ(acp_insert_many_map(map, count, all.data()), static_cast<std::int64_t>(count))
            << acp_error_message();
        ASSERT_EQ(acp_insert_many_map(map, count, all.data()), 0) << acp_error_message();
        std::vector<std::string> rooms(count, std::string(4'000, '\0'));
        auto found = entries(rooms);
        ASSERT_EQ(acp_find_many_map(map, count, found.data()), static_cast<std::int64_t>(count))
            << acp_error_message();
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(found[i].result, 1);
            EXPECT_EQ(rooms[i].substr(0, found[i].value_size), values[i]);
        }
        for (std::size_t i = 0; i < count; ++i) values[i] += '!';
        all = entries(values);
        ASSERT_EQ(acp_assign_many_map(map, count, all.data()), static_cast<std::int64_t>(count))
            << acp_error_message();
        for (std::size_t i = 0; i < count; i += 7) EXPECT_EQ(value_of(map, keys[i]), values[i]);
        for (std::size_t i = 0; i < count / 2; ++i) ASSERT_EQ(remove(map, keys[i]), 1);
        ASSERT_EQ(acp_remove_many_map(map, count, all.data()),
                  static_cast<std::int64_t>(count - count / 2));
        EXPECT_EQ(all[0].result, 0);
        EXPECT_EQ(all[count - 1].result, 1);
        std::vector<acp_entry_t> sums(count);
        for (std::size_t i = 0; i < count; ++i) {
            sums[i] = {keys[i % 10].data(), keys[i % 10].size(), nullptr, 0, 1, -7};
        }
        ASSERT_EQ(acp_fetch_add_many_map(map, count, sums.data()),
                  static_cast<std::int64_t>(count - 10))
            << acp_error_message();
        std::uint64_t old = 0;
        EXPECT_EQ(acp_fetch_add_map(map, keys[0].data(), keys[0].size(), 0, &old), 1);
        EXPECT_EQ(old, count / 10);
    });
}

TEST_F(HashedTest, calls_that_do_not_wait_tell_their_results_afterwards) {
    with_map(2, [this](acp_map_t map) {
        constexpr std::size_t count = 40;
        std::vector<acp_reply_t> replies(count);
        std::vector<std::string> keys;
        for (std::size_t i = 0; i < count; ++i) keys.push_back(own_key(i));
        acp_handle_t last = ACP_HANDLE_NULL;
        for (std::size_t i = 0; i < count; ++i) {
            std::string value = "v" + std::to_string(i);
            const acp_entry_t entry{
                keys[i].data(), keys[i].size(), value.data(), value.size(), 0, 0};
            last = acp_start_insert_map(map, &entry, &replies[i]);
            ASSERT_NE(last, static_cast<acp_handle_t>(ACP_HANDLE_NULL)) << acp_error_message();
        }
        expect_done(last);
        for (const acp_reply_t& reply : replies) {
            EXPECT_EQ(acp_result_of_reply(&reply, nullptr, nullptr), 1) << acp_error_message();
        }
        for (std::size_t i = 0; i < count; ++i) {
            last = acp_start_retrieve_map(map, keys[i].data(), keys[i].size(), &replies[i]);
        }
        expect_done(last);
        for (std::size_t i = 0; i < count; ++i) {
            const void* value = nullptr;
            std::size_t bytes = 0;
            ASSERT_EQ(acp_result_of_reply(&replies[i], &value, &bytes), 1) << acp_error_message();
            EXPECT_EQ(std::string(static_cast<const char*>(value), bytes), "v" + std::to_string(i));
        }
        last = acp_start_remove_map(map, keys[0].data(), keys[0].size(), &replies[0]);
        expect_done(last);
        EXPECT_EQ(acp_result_of_reply(&replies[0], nullptr, nullptr), 1);
        last = acp_start_retrieve_map(map, keys[0].data(), keys[0].size(), &replies[0]);
        expect_done(last);
        EXPECT_EQ(acp_result_of_reply(&replies[0], nullptr, nullptr), 0);
    });
}

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
            }
            EXPECT_EQ(values.size(), 30U * static_cast<std::size_t>(procs_));
            sync_ranks();
            if (rank_ == 0) {
                EXPECT_EQ(acp_remove_multimap(map, "key", 3), 30 * procs_);
                EXPECT_EQ(acp_find_multimap(map, "key", 3).success, 0);
            }
        });
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
    EXPECT_EQ(acp_assign_map(one, one), 0) << acp_error_message();
    EXPECT_EQ(content_of(one), merged);
    EXPECT_EQ(acp_destroy_map(one), 0) << acp_error_message();
    EXPECT_EQ(acp_destroy_map(two), 0) << acp_error_message();
}

TEST_F(HashedTest, every_misuse_is_told) {
    const acp_map_t none{};
    EXPECT_EQ(insert(none, "k", "v"), -1);
    expect_refused(ACP_ERR_ARGUMENT, {"acp_insert_if_absent_map", "null"});
    EXPECT_EQ(acp_find_map(none, "k", 1).success, -1);
    EXPECT_EQ(acp_destroy_map(none), -1);
    EXPECT_EQ(acp_size_map(none), static_cast<std::size_t>(-1));
    EXPECT_EQ(acp_begin_map(none).rank, -1);

    const int twice[] = {0, 0};
    EXPECT_EQ(acp_create_map(2, twice, 4, 0).ga, ACP_GA_NULL);
    expect_refused(ACP_ERR_ARGUMENT, {"acp_create_map", procs_ > 1 ? "twice" : "num_ranks"});
    const int beyond[] = {procs_};
    EXPECT_EQ(acp_create_map(1, beyond, 4, 0).ga, ACP_GA_NULL);
    expect_refused(ACP_ERR_ARGUMENT, {"rank " + std::to_string(procs_)});
    EXPECT_EQ(acp_create_map(-1, nullptr, 4, 0).ga, ACP_GA_NULL);
    EXPECT_EQ(acp_create_map(procs_ + 1, nullptr, 4, 0).ga, ACP_GA_NULL);
    EXPECT_EQ(acp_create_map(0, nullptr, -1, 0).ga, ACP_GA_NULL);
    EXPECT_EQ(acp_create_map(0, nullptr, 4, procs_).ga, ACP_GA_NULL);
    EXPECT_EQ(acp_create_map(0, nullptr, 4, -1).ga, ACP_GA_NULL);
    EXPECT_EQ(acp_create_map_with(nullptr).ga, ACP_GA_NULL);

    const acp_map_t map = acp_create_map(0, nullptr, 4, rank_);
    ASSERT_NE(map.ga, ACP_GA_NULL) << acp_error_message();
    EXPECT_EQ(acp_insert_if_absent_map(map, nullptr, 5, "v", 1), -1);
    expect_refused(ACP_ERR_ARGUMENT, {"key is NULL"});
    EXPECT_EQ(acp_insert_if_absent_map(map, "k", 1, nullptr, 5), -1);
    expect_refused(ACP_ERR_ARGUMENT, {"value is NULL"});
    EXPECT_EQ(acp_insert_if_absent_map(map, nullptr, 0, nullptr, 0), 1) << "an empty key is a key";
    EXPECT_EQ(acp_insert_if_absent_map(map, "k", 1, "v", std::size_t{1} << 40), -1);
    EXPECT_EQ(acp_size_map(map), 1U);
    acp_set_t as_set{};
    as_set.ga = map.ga;
    EXPECT_EQ(acp_contains_set(as_set, "k", 1), -1);
    expect_refused(ACP_ERR_ARGUMENT, {"map"});
    acp_map_t wild = map;
    wild.ga += 8;
    EXPECT_EQ(insert(wild, "k", "v"), -1);
    acp_map_t other = map;
    other.id ^= 1;
    EXPECT_EQ(insert(other, "k", "v"), -1);
    expect_refused(ACP_ERR_STALE, {});
    acp_map_it_t end = acp_end_map(map);
    EXPECT_EQ(acp_erase_map(end).rank, -1);
    EXPECT_EQ(acp_increment_map_it(end).elem, ACP_GA_NULL);
    EXPECT_EQ(acp_dereference_map_it(end).first.ga, ACP_GA_NULL);
    end.rank = 77;
    EXPECT_EQ(acp_increment_map_it(end).elem, ACP_GA_NULL);
    EXPECT_EQ(acp_find_many_map(map, 1, nullptr), -1);
    EXPECT_EQ(acp_find_many_map(map, 0, nullptr), 0);
    EXPECT_EQ(acp_for_each_local_map(map, nullptr, nullptr), -1);
    acp_map_t without_id = map;
    without_id.id = 0;
    EXPECT_EQ(insert(without_id, "k", "v"), 1) << "the address alone names it too";
    EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
    EXPECT_EQ(acp_destroy_map(map), -1);
    EXPECT_EQ(insert(map, "k", "v"), -1);
    expect_refused(ACP_ERR_STALE, {"acp_insert_if_absent_map"});
    std::size_t bytes = 0;
    EXPECT_EQ(acp_retrieve_map(map, "k", 1, nullptr, &bytes), -1);
}

TEST_F(HashedTest, a_full_heap_is_told_and_the_map_stays_as_it_was) {
    if (rank_ != 0) return;
    const int owner[] = {procs_ - 1};
    const acp_map_t map = acp_create_map(1, owner, 4, 0);
    ASSERT_NE(map.ga, ACP_GA_NULL) << acp_error_message();
    const std::string value(1 << 20, 'v');
    int inserted = 0;
    while (insert(map, std::to_string(inserted), value) == 1) {
        ASSERT_LT(++inserted, 1'000);
    }
    expect_refused(ACP_ERR_MEMORY, {"acp_insert_if_absent_map", "no room", "heap-size"});
    EXPECT_GE(inserted, 8);
    EXPECT_EQ(acp_size_map(map), static_cast<std::size_t>(inserted));
    EXPECT_EQ(value_of(map, "0"), value);
    EXPECT_EQ(remove(map, "0"), 1);
    EXPECT_EQ(insert(map, "again", value), 1) << acp_error_message();
    EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
