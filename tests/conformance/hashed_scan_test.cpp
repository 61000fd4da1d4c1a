// SPDX-License-Identifier: BSD-3-Clause
// Scans of hashed containers: a scan returns the entries of a walk, many at a time, on any rank,
// while other ranks change the container.
#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "conformance/hashed_fixture.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

std::string text_of(const void* bytes, std::size_t size) {
    return std::string(static_cast<const char*>(bytes), size);
}

class HashedScanTest : public HashedTest {
protected:
    // Calls each(entry) for all entries from an iterator on, by scans of at most `count` entries; a
    // scan that needs more room fails and returns the size it needs.
    template <typename It, typename Scan, typename Each>
    static void scan_all(It it, const Scan& scan, std::size_t count, const Each& each) {
        std::vector<acp_entry_t> entries(count);
        std::vector<std::uint64_t> room(1024);
        for (;;) {
            const std::int64_t some =
                scan(&it, entries.size(), entries.data(), room.data(), room.size() * 8);
            // `it` has the sizes that are needed
            if (some == -1 && acp_errno() == ACP_ERR_LIMIT) {
                ASSERT_GT((it.value_size + 7) / 8 + (it.key_size + 7) / 8, room.size());
                room.resize((it.value_size + 7) / 8 + (it.key_size + 7) / 8);
                continue;
            }
            ASSERT_GE(some, 0) << acp_error_message();
            ASSERT_LE(some, static_cast<std::int64_t>(count));
            for (std::int64_t i = 0; i < some; ++i) {
                const acp_entry_t& entry = entries[static_cast<std::size_t>(i)];
                ASSERT_EQ(entry.result, 1);
                ASSERT_EQ(reinterpret_cast<std::uintptr_t>(entry.value) % 8, 0U);
                ASSERT_EQ(reinterpret_cast<std::uintptr_t>(entry.key) % 8, 0U);
                each(entry);
            }
            if (some == 0) break;
        }
        EXPECT_EQ(it.elem, ACP_GA_NULL);
    }

    static std::map<std::string, std::string> scanned(acp_map_it_t it, std::size_t count) {
        std::map<std::string, std::string> content;
        scan_all(it, acp_scan_map, count, [&](const acp_entry_t& entry) {
            EXPECT_TRUE(content
                            .emplace(text_of(entry.key, entry.key_size),
                                     text_of(entry.value, entry.value_size))
                            .second)
                << "an entry came twice";
        });
        return content;
    }
};

TEST_F(HashedScanTest, finds_each_entry_once_in_the_order_of_iterators) {
    with_map(3, [this](acp_map_t map) {
        for (std::uint64_t i = 0; i < 150; ++i) {
            const std::size_t bytes = i == 7 ? 20'000 : i % 40 == 3 ? 1'200 : i % 50;
            ASSERT_EQ(insert(map, own_key(i), std::string(bytes, 'v')), 1) << acp_error_message();
        }
        ASSERT_EQ(insert(map, own_key(150) + std::string(2'000, 'k'), "of a long key"), 1);
        sync_ranks();
        const auto content = content_of(map);
        EXPECT_EQ(content.size(), 151 * static_cast<std::size_t>(procs_));
        for (const std::size_t count : {std::size_t{1}, std::size_t{13}, std::size_t{5'000}}) {
            EXPECT_EQ(scanned(acp_begin_map(map), count), content);
        }
        const auto local = scanned(acp_begin_local_map(map), 10);
        EXPECT_EQ(local.size(), acp_size_local_map(map));
        // Walks by iterators and by scans visit the same entries in the same order.
        std::vector<std::uint64_t> room(4'096);
        acp_entry_t entries[5];
        acp_map_it_t scan = acp_begin_map(map);
        acp_map_it_t step = scan;
        while (scan.elem != ACP_GA_NULL) {
            const std::int64_t some = acp_scan_map(&scan, 5, entries, room.data(), room.size() * 8);
            ASSERT_GT(some, 0) << acp_error_message();
            for (std::int64_t i = 0; i < some; ++i) {
                ASSERT_EQ(bytes_of(acp_dereference_map_it(step).first),
                          text_of(entries[i].key, entries[i].key_size));
                step = acp_increment_map_it(step);
            }
            ASSERT_EQ(step.elem, scan.elem);
        }
    });
}

TEST_F(HashedScanTest, begins_at_the_entry_of_a_key_and_continues_where_it_was_erased) {
    with_map(2, [this](acp_map_t map) {
        for (std::uint64_t i = 0; i < 40; ++i) ASSERT_EQ(insert(map, own_key(i), "value"), 1);
        const std::string key = own_key(11);
        std::vector<std::uint64_t> room(64);
        acp_entry_t entry{};
        acp_map_it_t it = acp_find_map(map, key.data(), key.size()).it;
        const acp_map_it_t before = it;
        ASSERT_EQ(acp_scan_map(&it, 1, &entry, room.data(), room.size() * 8), 1);
        EXPECT_EQ(text_of(entry.key, entry.key_size), key);
        EXPECT_EQ(text_of(entry.value, entry.value_size), "value");
        // An entry that a scan has returned can be passed to a call on many entries.
        std::memcpy(entry.value, "VALUE", 5);
        EXPECT_EQ(acp_assign_many_map(map, 1, &entry), 0) << acp_error_message();
        EXPECT_EQ(entry.result, 0) << "there was an entry";
        EXPECT_EQ(value_of(map, key), "VALUE");
        ASSERT_EQ(remove(map, key), 1);
        it = before;
        const std::int64_t rest = acp_scan_map(&it, 1, &entry, room.data(), room.size() * 8);
        ASSERT_GE(rest, 0) << acp_error_message();
        if (rest == 1) {
            EXPECT_NE(text_of(entry.key, entry.key_size), key);
        }
        sync_ranks();
    });
}

TEST_F(HashedScanTest, reports_missing_room_and_every_misuse) {
    const acp_map_t map = acp_create_map(0, nullptr, 4, rank_);
    ASSERT_NE(map.ga, ACP_GA_NULL) << acp_error_message();
    acp_entry_t entry{};
    std::uint64_t room[4];
    acp_map_it_t it = acp_begin_map(map);
    EXPECT_EQ(acp_scan_map(&it, 1, &entry, room, sizeof room), 0) << "an empty map";
    ASSERT_EQ(insert(map, "key", std::string(30, 'v')), 1);
    it = acp_begin_map(map);
    EXPECT_EQ(acp_scan_map(&it, 0, nullptr, nullptr, 0), 0);
    EXPECT_EQ(acp_scan_map(&it, 1, &entry, room, sizeof room), -1);
    expect_refused(ACP_ERR_LIMIT, {"acp_scan_map", "30 bytes", "3 bytes"});
    EXPECT_EQ(it.key_size, 3U);
    EXPECT_EQ(it.value_size, 30U);
    EXPECT_EQ(acp_scan_map(nullptr, 1, &entry, room, sizeof room), -1);
    expect_refused(ACP_ERR_ARGUMENT, {"acp_scan_map", "it is NULL"});
    EXPECT_EQ(acp_scan_map(&it, 1, nullptr, room, sizeof room), -1);
    expect_refused(ACP_ERR_ARGUMENT, {"entries"});
    EXPECT_EQ(acp_scan_map(&it, 1, &entry, nullptr, 8), -1);
    expect_refused(ACP_ERR_ARGUMENT, {"room"});
    acp_map_it_t failed = it;
    failed.rank = -1;
    EXPECT_EQ(acp_scan_map(&failed, 1, &entry, room, sizeof room), -1);
    expect_refused(ACP_ERR_ARGUMENT, {"iterator"});
    const acp_map_it_t before = it;
    EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
    EXPECT_EQ(acp_scan_map(&it, 1, &entry, room, sizeof room), -1);
    expect_refused(ACP_ERR_STALE, {"acp_scan_map"});
    EXPECT_EQ(it.elem, before.elem) << "it is as it was after a failure";
    EXPECT_EQ(acp_increment_map_it(it).rank, -1);
    expect_refused(ACP_ERR_STALE, {"acp_increment_map_it"});
}

TEST_F(HashedScanTest, reads_keys_and_counts_and_several_entries_of_a_key) {
    with_shared<acp_set_t>(
        [&] { return acp_create_set(0, nullptr, 1, 0); }, acp_destroy_set,
        [this](acp_set_t set) {
            for (std::uint64_t i = 0; i < 60; ++i) {
                ASSERT_EQ(acp_insert_if_absent_set(set, own_key(i).data(), own_key(i).size()), 1);
            }
            sync_ranks();
            std::set<std::string> keys;
            scan_all(acp_begin_set(set), acp_scan_set, 25, [&](const acp_entry_t& entry) {
                EXPECT_EQ(entry.value_size, 0U);
                EXPECT_TRUE(keys.insert(text_of(entry.key, entry.key_size)).second);
            });
            EXPECT_EQ(keys.size(), acp_size_set(set));
        });
    with_shared<acp_multiset_t>(
        [&] { return acp_create_multiset(0, nullptr, 1, 0); }, acp_destroy_multiset,
        [this](acp_multiset_t set) {
            for (std::uint64_t i = 0; i < 60; ++i) {
                const std::string key = own_key(i);
                ASSERT_EQ(acp_add_multiset(set, key.data(), key.size(), i + 1), i + 1);
            }
            sync_ranks();
            std::map<std::string, std::uint64_t> counts;
            scan_all(acp_begin_multiset(set), acp_scan_multiset, 25, [&](const acp_entry_t& entry) {
                counts[text_of(entry.key, entry.key_size)] += entry.number;
            });
            EXPECT_EQ(counts.size(), acp_size_multiset(set));
            for (std::uint64_t i = 0; i < 60; ++i) EXPECT_EQ(counts[own_key(i)], i + 1);
        });
    with_shared<acp_multimap_t>(
        [&] { return acp_create_multimap(0, nullptr, 1, 0); }, acp_destroy_multimap,
        [this](acp_multimap_t map) {
            std::multiset<std::string> inserted;
            for (int i = 0; i < 90; ++i) {
                const std::string key = "key " + std::to_string(i % 2);
                const std::string value = own_key(static_cast<std::uint64_t>(i));
                ASSERT_NE(
                    acp_insert_multimap(map, key.data(), key.size(), value.data(), value.size())
                        .elem,
                    ACP_GA_NULL);
                inserted.insert(key + value);
            }
            sync_ranks();
            std::multiset<std::string> own;
            std::size_t all = 0;
            scan_all(acp_begin_multimap(map), acp_scan_multimap, 7, [&](const acp_entry_t& entry) {
                ++all;
                const std::string value = text_of(entry.value, entry.value_size);
                if (value.rfind("rank " + std::to_string(rank_) + " ", 0) == 0)
                    own.insert(text_of(entry.key, entry.key_size) + value);
            });
            EXPECT_EQ(own, inserted);
            EXPECT_EQ(all, acp_size_multimap(map));
        });
}

TEST_F(HashedScanTest, finds_what_stays_once_while_all_ranks_change_the_map) {
    with_map(1, [this](acp_map_t map) {
        constexpr std::uint64_t kept = 60;
        for (std::uint64_t i = 0; i < kept; ++i) ASSERT_EQ(insert(map, own_key(i), "kept"), 1);
        sync_ranks();
        std::atomic<bool> is_over{false};
        std::thread changer([&] {
            Random random(static_cast<std::uint64_t>(rank_) + 9);
            for (std::uint64_t i = 0; !is_over.load(std::memory_order_acquire); ++i) {
                // Their insertions make the table grow.
                const std::string passing = own_key(1'000 + i % 300);
                if (i % 600 < 300) {
                    (void)insert(map, passing, "passing");
                } else {
                    (void)remove(map, passing);
                }
                (void)assign(map, own_key(random.below(kept)),
                             "kept " + std::string(random.below(100), 'v'));
            }
        });
        for (int round = 0; round < 12; ++round) {
            std::map<std::string, int> seen;
            scan_all(acp_begin_map(map), acp_scan_map, 1 + 7 * static_cast<std::size_t>(round),
                     [&](const acp_entry_t& entry) {
                         const std::string value = text_of(entry.value, entry.value_size);
                         if (value.rfind("kept", 0) != 0) return;
                         ++seen[text_of(entry.key, entry.key_size)];
                     });
            EXPECT_EQ(seen.size(), kept * static_cast<std::uint64_t>(procs_));
            for (const auto& [key, times] : seen) EXPECT_EQ(times, 1) << key;
        }
        is_over.store(true, std::memory_order_release);
        changer.join();
    });
}

// Memory of an erased entry is soon reused for another one, while a scan still copies it.
TEST_F(HashedScanTest, finds_no_long_entry_twice_while_others_come_and_go) {
    with_map(1, [this](acp_map_t map) {
        const auto long_key = [this](std::uint64_t i) {
            return own_key(10 + i % 12) + std::string(9'000, 'k');
        };
        std::atomic<bool> is_over{false};
        std::thread changer([&] {
            Random random(static_cast<std::uint64_t>(rank_) + 31);
            while (!is_over.load(std::memory_order_acquire)) {
                const std::string key = long_key(random.next());
                if (random.chance(50)) {
                    (void)assign(map, key, "of " + key);
                } else {
                    (void)remove(map, key);
                }
            }
        });
        for (int round = 0; round < 40; ++round) {
            std::map<std::string, int> seen;
            scan_all(acp_begin_map(map), acp_scan_map, 3, [&](const acp_entry_t& entry) {
                const std::string key = text_of(entry.key, entry.key_size);
                EXPECT_EQ(text_of(entry.value, entry.value_size), "of " + key);
                EXPECT_EQ(++seen[key], 1) << key.substr(0, 20);
            });
        }
        is_over.store(true, std::memory_order_release);
        changer.join();
    });
}

}  // namespace
}  // namespace acp::test
