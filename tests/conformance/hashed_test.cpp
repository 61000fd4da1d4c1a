// SPDX-License-Identifier: BSD-3-Clause
// Maps, multimaps, sets and multisets that all ranks use at once: they hold each inserted key once
// or as often as it was inserted, on any rank; every misuse is refused and changes nothing.
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

#include "conformance/hashed_fixture.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

// A value that is often short and sometimes longer than a message.
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
                    ASSERT_EQ(assign(map, key, value), model.count(key) == 0 ? 1 : 0)
                        << acp_error_message();
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
        EXPECT_EQ(acp_compare_exchange_map(map, key.data(), key.size(), &expected, 2), ACP_NONE);
        std::uint64_t old = 9;
        EXPECT_EQ(acp_fetch_add_map(map, key.data(), key.size(), 5, &old), 1) << "a new entry";
        EXPECT_EQ(old, 0U);
        EXPECT_EQ(acp_compare_exchange_map(map, key.data(), key.size(), &expected, 2), 0);
        EXPECT_EQ(expected, 5U);
        EXPECT_EQ(acp_compare_exchange_map(map, key.data(), key.size(), &expected, 2), 1);
        EXPECT_EQ(acp_fetch_add_map(map, key.data(), key.size(), 1, &old), 0);
        EXPECT_EQ(old, 2U);

        const std::string word = own_key(1);
        ASSERT_EQ(insert(map, word, "abc"), 1);
        EXPECT_EQ(acp_fetch_add_map(map, word.data(), word.size(), 1, nullptr), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_fetch_add_map", "\": its value has not 8"});
        char before[] = "abc";
        const acp_entry_t entry{word.data(), word.size(), before, 3, 0, 0};
        EXPECT_EQ(acp_replace_map(map, &entry, "longer than before", 18), 1);
        EXPECT_EQ(value_of(map, word), "longer than before");
        EXPECT_EQ(acp_replace_map(map, &entry, "x", 1), 0);
        EXPECT_EQ(value_of(map, word), "longer than before");
        const std::string nobody = own_key(2);
        const acp_entry_t absent{nobody.data(), nobody.size(), before, 3, 0, 0};
        EXPECT_EQ(acp_replace_map(map, &absent, "x", 1), ACP_NONE);
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
        // Each rank erases the entries that it stores, by iterators.
        for (acp_map_it_t it = acp_begin_local_map(map); it.elem != end.elem;) {
            const acp_map_it_t gone = it;
            it = acp_erase_map(it);
            ASSERT_GE(it.rank, 0) << acp_error_message();
            EXPECT_EQ(acp_erase_map(gone).elem, ACP_GA_NULL);
            expect_refused(ACP_ERR_STALE, {"acp_erase_map", "erased before"});
            EXPECT_EQ(acp_increment_map_it(gone).elem, it.elem) << "leads to the next entry";
        }
        EXPECT_EQ(acp_size_local_map(map), 0U);
    });
}

// Each map has one table, so that iterators of two maps on one rank differ only in the map.
TEST_F(HashedTest, walks_after_an_exchange_by_another_rank_find_what_each_has_then) {
    with_map(1, [this](acp_map_t one) {
        with_map(1, [&](acp_map_t other) {
            if (rank_ == 0) {
                ASSERT_EQ(insert(one, "of one", "1"), 1);
                ASSERT_EQ(insert(other, "of the other", "2"), 1);
            }
            for (int round = 0; round < 4; ++round) {
                sync_ranks();
                EXPECT_EQ(content_of(round % 2 == 0 ? one : other).count("of one"), 1U);
                EXPECT_EQ(content_of(round % 2 == 0 ? other : one).count("of the other"), 1U);
                sync_ranks();
                EXPECT_EQ(rank_ == 0 ? acp_swap_map(one, other) : 0, 0) << acp_error_message();
                sync_ranks();
                EXPECT_NE(acp_begin_map(one).elem, ACP_GA_NULL) << acp_error_message();
            }
        });
    });
}

TEST_F(HashedTest, an_iterator_that_was_changed_is_refused) {
    for (int owner = 0; owner < procs_; ++owner) {
        const acp_map_t map = acp_create_map(1, &owner, 4, owner);
        const acp_map_t other = acp_create_map(1, &owner, 4, owner);
        ASSERT_NE(other.ga, ACP_GA_NULL) << acp_error_message();
        ASSERT_EQ(insert(map, "key", "value"), 1);
        ASSERT_EQ(insert(other, "key", "value"), 1);
        const acp_map_it_t good = acp_begin_map(map);
        acp_map_it_t of_other = good;
        of_other.map = other;
        acp_map_it_t of_other_rank = good;
        of_other_rank.rank = 1;
        acp_map_it_t beyond = good;
        beyond.rank = 12'345;
        acp_map_it_t other_entry = good;
        other_entry.elem = acp_begin_map(other).elem;
        acp_map_it_t end_of_other = acp_end_map(map);
        end_of_other.map = other;
        for (acp_map_it_t wrong : {of_other, of_other_rank, beyond, other_entry, end_of_other}) {
            EXPECT_EQ(acp_increment_map_it(wrong).rank, -1);
            expect_refused(ACP_ERR_ARGUMENT, {"acp_increment_map_it", "none of this container"});
            EXPECT_EQ(acp_erase_map(wrong).rank, -1);
            expect_refused(ACP_ERR_ARGUMENT, {"acp_erase_map", "none of this container"});
            acp_entry_t entry{};
            char room[64];
            EXPECT_EQ(acp_scan_map(&wrong, 1, &entry, room, sizeof room), -1);
            expect_refused(ACP_ERR_ARGUMENT, {"acp_scan_map", "none of this container"});
        }
        EXPECT_EQ(acp_size_map(map), 1U);
        EXPECT_EQ(acp_size_map(other), 1U);
        EXPECT_EQ(acp_increment_map_it(good).elem, ACP_GA_NULL);
        EXPECT_EQ(acp_increment_map_it(good).rank, 1) << "the end";
        EXPECT_GE(acp_erase_map(good).rank, 0);
        EXPECT_EQ(acp_size_map(map), 0U);
        EXPECT_EQ(acp_destroy_map(map), 0);
        EXPECT_EQ(acp_destroy_map(other), 0);
    }
}

TEST_F(HashedTest, many_keys_at_once_are_as_each_alone) {
    const auto use = [this](acp_map_t map) {
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
        ASSERT_EQ(acp_assign_many_map(map, count, all.data()), 0) << acp_error_message();
        EXPECT_EQ(all[count - 1].result, 0) << "there was an entry";
        for (std::size_t i = 0; i < count; i += 7) EXPECT_EQ(value_of(map, keys[i]), values[i]);
        for (std::size_t i = 0; i < count / 2; ++i) ASSERT_EQ(remove(map, keys[i]), 1);
        ASSERT_EQ(acp_remove_many_map(map, count, all.data()),
                  static_cast<std::int64_t>(count - count / 2));
        EXPECT_EQ(all[0].result, 0);
        EXPECT_EQ(all[count - 1].result, 1);
        ASSERT_EQ(acp_assign_many_map(map, count, all.data()), static_cast<std::int64_t>(count));
        EXPECT_EQ(all[count - 1].result, 1);
        ASSERT_EQ(acp_remove_many_map(map, count, all.data()), static_cast<std::int64_t>(count));
        std::vector<acp_entry_t> sums(count);
        for (std::size_t i = 0; i < count; ++i) {
            sums[i] = {keys[i % 10].data(), keys[i % 10].size(), nullptr, 0, 1, -7};
        }
        ASSERT_EQ(acp_fetch_add_many_map(map, count, sums.data()), 10) << acp_error_message();
        std::uint64_t old = 0;
        EXPECT_EQ(acp_fetch_add_map(map, keys[0].data(), keys[0].size(), 0, &old), 0);
        EXPECT_EQ(old, count / 10);
    };
    with_map(2, use);
    with_map_of_rank(0, use);
}

TEST_F(HashedTest, a_call_on_thousands_of_keys_works_on_each_and_reports_the_failed_ones) {
    with_map(2, [this](acp_map_t map) {
        constexpr std::size_t count = 9'000;
        constexpr std::size_t different = 700;
        std::vector<std::string> keys;
        for (std::size_t i = 0; i < different; ++i) keys.push_back(own_key(i));
        std::vector<acp_entry_t> entries(count);
        const auto fill = [&] {
            for (std::size_t i = 0; i < count; ++i) {
                const std::string& key = keys[i % different];
                entries[i] = {key.data(), key.size(), nullptr, 0, 1, -7};
            }
        };
        fill();
        ASSERT_EQ(acp_fetch_add_many_map(map, count, entries.data()), std::int64_t{different});
        fill();
        entries[count - 1].key = nullptr;
        EXPECT_EQ(acp_fetch_add_many_map(map, count, entries.data()), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"entries[8999]"});
        EXPECT_EQ(entries[0].result, -7) << "nothing was done";
        ASSERT_EQ(assign(map, keys[3], "no number"), 0);
        fill();
        EXPECT_EQ(acp_fetch_add_many_map(map, count, entries.data()), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"entry 3 has not 8 bytes"});
        EXPECT_EQ(entries[3].result, -1);
        EXPECT_EQ(entries[3 + different].result, -1);
        EXPECT_EQ(entries[count - 1].result, 0);
        std::uint64_t sum = 0;
        std::uint64_t old = 0;
        for (std::size_t i = 0; i < different; ++i) {
            if (i == 3) continue;
            ASSERT_EQ(acp_fetch_add_map(map, keys[i].data(), keys[i].size(), 0, &old), 0);
            sum += old;
        }
        EXPECT_EQ(sum, 2 * (count - (count + different - 4) / different));
    });
}

TEST_F(HashedTest, calls_that_do_not_wait_return_their_results_later) {
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
        for (acp_reply_t& reply : replies) {
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

TEST_F(HashedTest, every_misuse_is_reported) {
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
    for (const std::size_t bytes : {std::size_t{1} << 32, std::size_t{1} << 62}) {
        acp_entry_t entry{};
        entry.key = "long";
        entry.key_size = bytes;
        EXPECT_EQ(acp_fetch_add_map(map, entry.key, bytes, 1, nullptr), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_fetch_add_map", "less than 4 GiB"});
        EXPECT_EQ(acp_find_many_map(map, 1, &entry), -1);
        expect_refused(ACP_ERR_ARGUMENT, {"acp_find_many_map", "entry 0", "less than 4 GiB"});
    }
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

TEST_F(HashedTest, a_full_heap_is_reported_and_the_map_stays_unchanged) {
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
