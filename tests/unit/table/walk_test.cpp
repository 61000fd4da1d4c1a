// SPDX-License-Identifier: BSD-3-Clause
// Walks over tables: each entry once, in the order of positions, while tables grow and values are
// replaced.
#include "table/walk.hpp"

#include <map>
#include <set>
#include <vector>

#include "support/random.hpp"
#include "unit/table/table_memory.hpp"

namespace acp::table {
namespace {

TEST(Positions, turn_back_into_hashes_and_keep_buckets_together) {
    test::Random random(3);
    for (const std::uint64_t slots :
         {1ULL, 2ULL, 3ULL, 7ULL, 8ULL, 100ULL, 1ULL << 20, (1ULL << 32) - 5, 1ULL << 32}) {
        const Positions positions(slots);
        for (int i = 0; i < 1'000; ++i) {
            const std::uint64_t hash = random.next() & hash_mask;
            const std::uint64_t position = positions.of(hash);
            ASSERT_EQ(positions.hash_at(position), hash) << slots;
            ASSERT_FALSE(positions.is_beyond(position));
            for (std::uint32_t level = 0; level < 10; ++level) {
                ASSERT_EQ(positions.bucket_at(position, level), positions.bucket_of(hash, level))
                    << slots << " slots, level " << level;
                ASSERT_EQ(positions.bucket_of(hash, level) % slots, hash % slots);
                const std::uint64_t end = positions.end_of_bucket(position, level);
                if (end == 0) continue;
                ASSERT_LT(position, end);
                ASSERT_NE(positions.bucket_at(end, level), positions.bucket_at(position, level));
            }
        }
    }
}

TEST(Positions, of_one_table_of_many_fill_all_its_buckets) {
    constexpr std::uint64_t tables = 8;
    constexpr std::uint32_t level = 5;
    for (const std::uint64_t slots : {1ULL, 3ULL, 16ULL, 100ULL, 1ULL << 20}) {
        const Positions positions(slots);
        test::Random random(7);
        std::set<std::uint64_t> buckets;
        for (int i = 0; i < 1'000; ++i) {
            const std::uint64_t quotient = (random.next() & hash_mask) / slots;
            // A hash of the sixth table of a container, in the last bucket of the first array.
            const std::uint64_t hash = (quotient / tables * tables + 5) * slots + slots - 1;
            if (hash <= hash_mask) buckets.insert(positions.bucket_of(hash, level));
        }
        EXPECT_EQ(buckets.size(), std::size_t{1} << level) << slots << " slots";
    }
}

class WalkTest : public testing::Test {
protected:
    // Counts the visits of each key by a walk.
    template <typename During>
    std::map<std::string, int> walked(BlockNumber table, const During& during) {
        std::map<std::string, int> keys;
        WalkPlace after;
        for (Walked walked = Walked::more; walked == Walked::more;) {
            std::string last;
            walked = user_.table.walk(table, after, [&](const VisitedEntry& entry) {
                last.assign(entry.key, entry.key_bytes);
                ++keys[last];
                return Visited::stop_here;
            });
            during(last);
        }
        return keys;
    }

    //   name  outlives the key
    [[nodiscard]] static EntryKey of_one_hash(const std::string& name) {
        return {name.data(), static_cast<std::uint32_t>(name.size()), 1'234'567};
    }

    SharedHeap shared_;
    SharedPages participants_{Participants<std::atomic>::bytes(participants_max)};
    User<std::atomic> user_{shared_, participants_.data(), 0, 16};
};

TEST_F(WalkTest, visits_each_entry_once) {
    for (const std::uint64_t slots : {1ULL, 3ULL, 16ULL}) {
        const BlockNumber table = user_.table.make({slots, true});
        for (int i = 0; i < 500; ++i) {
            const std::string key = std::to_string(i);
            ASSERT_EQ(user_.table.insert(table, key_of(key), value_of(key)), Effect::done);
        }
        const auto keys = walked(table, [](const std::string&) {});
        EXPECT_EQ(keys.size(), 500U);
        for (const auto& [key, times] : keys) EXPECT_EQ(times, 1) << key;
        user_.table.destroy(table, 0);
    }
}

TEST_F(WalkTest, visits_once_what_is_there_all_the_time_while_the_table_grows_and_changes) {
    test::Random random(11);
    for (int round = 0; round < 30; ++round) {
        const BlockNumber table = user_.table.make({1 + random.below(5), true});
        std::set<std::string> kept;
        for (int i = 0; i < 60; ++i) {
            kept.insert("kept " + std::to_string(i));
            ASSERT_EQ(user_.table.insert(table, key_of("kept " + std::to_string(i)), value_of("x")),
                      Effect::done);
        }
        int added = 0;
        const auto keys = walked(table, [&](const std::string& last) {
            // Insertions stop, so that the walk ends.
            for (int i = 0; i < 4 && added < 1'000; ++i) {
                const std::string key = "added " + std::to_string(added++);
                ASSERT_EQ(user_.table.insert(table, key_of(key), value_of(key)), Effect::done);
            }
            // The value moves to another record; so does that of an entry that the walk has not
            // reached.
            for (const std::string& key : {last, "kept " + std::to_string(random.below(60))}) {
                if (key.rfind("kept", 0) != 0) continue;
                ASSERT_EQ(user_.table.assign(table, key_of(key),
                                             value_of(std::string(random.below(200), 'v'))),
                          Effect::done);
            }
            if (added > 10) {
                (void)user_.table.erase(
                    table, key_of("added " +
                                  std::to_string(random.below(static_cast<std::uint64_t>(added)))));
            }
        });
        for (const std::string& key : kept) {
            const auto times = keys.find(key);
            ASSERT_NE(times, keys.end()) << key;
            ASSERT_EQ(times->second, 1) << key;
        }
        user_.table.destroy(table, 0);
    }
}

// These keys share a hash, so only their bytes distinguish them. Other entries lie between them in
// the table.
TEST_F(WalkTest, visits_each_of_the_keys_of_one_hash_once) {
    const BlockNumber table = user_.table.make({2, true});
    std::vector<std::string> names;
    for (int i = 0; i < 120; ++i) names.push_back("name " + std::to_string(i));
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::uint64_t hash = i % 3 == 0 ? i * 0x9e3779b97f4a : i % 3 == 1 ? 1'234'567 : 89;
        const EntryKey key{names[i].data(), static_cast<std::uint32_t>(names[i].size()),
                           hash & hash_mask};
        ASSERT_EQ(user_.table.insert(table, key, value_of("v")), Effect::done);
    }
    const auto by_steps = walked(table, [](const std::string&) {});
    EXPECT_EQ(by_steps.size(), names.size());
    for (const auto& [key, times] : by_steps) EXPECT_EQ(times, 1) << key;
    for (const bool is_single : {false, true}) {
        std::map<std::string, int> keys;
        WalkPlace after;
        const auto visit = [&](const VisitedEntry& entry) {
            ++keys[std::string(entry.key, entry.key_bytes)];
            return is_single ? Visited::stop_here : Visited::go_on;
        };
        while (user_.table.walk(table, after, visit, is_single) == Walked::more) {
        }
        EXPECT_EQ(keys, by_steps);
    }
    user_.table.destroy(table, 0);
}

// Each replaced value moves to another record.
TEST_F(WalkTest, visits_each_of_the_keys_of_one_hash_once_while_their_values_are_replaced) {
    test::Random random(5);
    for (int round = 0; round < 30; ++round) {
        const BlockNumber table = user_.table.make({2, true});
        std::vector<std::string> names;
        for (int i = 0; i < 12; ++i) names.push_back("name " + std::to_string(i));
        for (const std::string& name : names) {
            ASSERT_EQ(user_.table.insert(table, of_one_hash(name), value_of("v")), Effect::done);
        }
        const auto keys = walked(table, [&](const std::string& last) {
            for (const std::string& name : {last, names[random.below(names.size())]}) {
                if (name.empty()) continue;
                ASSERT_EQ(user_.table.assign(table, of_one_hash(name),
                                             value_of(std::string(random.below(200), 'v'))),
                          Effect::done);
            }
        });
        for (const std::string& name : names) {
            const auto times = keys.find(name);
            ASSERT_TRUE(times != keys.end() && times->second == 1) << name;
        }
        user_.table.destroy(table, 0);
    }
}

TEST_F(WalkTest, visits_no_key_again_when_the_others_of_its_hash_are_erased) {
    const BlockNumber table = user_.table.make({2, true});
    const std::set<std::string> names = {"one", "other"};
    for (const std::string& name : names) {
        ASSERT_EQ(user_.table.insert(table, of_one_hash(name), value_of("v")), Effect::done);
    }
    std::string first;
    const auto keys = walked(table, [&](const std::string& last) {
        if (!first.empty() || last.empty()) return;
        first = last;
        const std::string other = first == "one" ? "other" : "one";
        ASSERT_EQ(user_.table.erase(table, of_one_hash(other)), Effect::done);
    });
    EXPECT_EQ(keys, (std::map<std::string, int>{{first, 1}}));
    user_.table.destroy(table, 0);
}

TEST_F(WalkTest, visits_all_entries_of_one_key) {
    const BlockNumber table =
        user_.table.make({.slots = 1, .may_grow = true, .has_many = true, .id = 0});
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(
            user_.table.put(table, {key_of("same"), value_of(std::to_string(i)), PutMode::add})
                .effect,
            Effect::done);
    }
    EXPECT_EQ(user_.table.entries(table), 100U);
    EXPECT_EQ(walked(table, [](const std::string&) {}).at("same"), 100);
    std::set<std::string> values;
    WalkPlace after;
    while (user_.table.walk(table, after, [&](const VisitedEntry& entry) {
        values.emplace(entry.value, entry.value_bytes);
        return Visited::go_on;
    }) == Walked::more) {
    }
    EXPECT_EQ(values.size(), 100U);
    int erased = 0;
    while (user_.table.erase(table, key_of("same")) == Effect::done) ++erased;
    EXPECT_EQ(erased, 100);
    user_.table.destroy(table, 0);
}

TEST_F(WalkTest, continues_with_the_entry_before_which_it_stopped) {
    const BlockNumber table = user_.table.make({2, true});
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(user_.table.insert(table, key_of(std::to_string(i)), value_of("")), Effect::done);
    }
    std::set<std::string> keys;
    WalkPlace after;
    bool is_refused = true;
    while (user_.table.walk(table, after, [&](const VisitedEntry& entry) {
        is_refused = !is_refused;
        if (is_refused) return Visited::stop_before;
        EXPECT_TRUE(keys.emplace(entry.key, entry.key_bytes).second);
        return Visited::go_on;
    }) == Walked::more) {
    }
    EXPECT_EQ(keys.size(), 20U);
    user_.table.destroy(table, 0);
}

TEST_F(WalkTest, returns_records_by_which_entries_are_found_and_erased) {
    const BlockNumber table = user_.table.make({2, true});
    const PutEffect put = user_.table.put(table, {key_of("a"), value_of("1"), PutMode::insert});
    const PutEffect again = user_.table.put(table, {key_of("a"), value_of("2"), PutMode::insert});
    EXPECT_EQ(again.effect, Effect::present);
    EXPECT_EQ(again.record, put.record);
    const std::uint64_t hash = key_of("a").hash & hash_mask;
    std::string value;
    const auto read = [&](const char* bytes, std::uint32_t count, const RecordName&) {
        value.assign(bytes, count);
    };
    EXPECT_EQ(user_.table.find_record(table, hash, put.record, read), Effect::done);
    EXPECT_EQ(value, "1");
    EXPECT_EQ(user_.table.hash_at(table, user_.table.position_of(table, hash)), hash);
    EXPECT_EQ(user_.table.erase_record(table, hash, put.record), Effect::done);
    EXPECT_EQ(user_.table.erase_record(table, hash, put.record), Effect::absent);
    EXPECT_EQ(user_.table.find_record(table, hash, put.record, read), Effect::absent);
    user_.table.destroy(table, 0);
}

TEST_F(WalkTest, an_erased_record_is_not_the_later_one_of_the_same_key_in_its_memory) {
    for (const bool has_many : {false, true}) {
        const BlockNumber table = user_.table.make({2, true, has_many});
        const PutMode mode = has_many ? PutMode::add : PutMode::insert;
        const std::uint64_t hash = key_of("a").hash & hash_mask;
        const auto put = [&] {
            return user_.table.put(table, {key_of("a"), value_of("1"), mode}).record;
        };
        const RecordName erased = put();
        ASSERT_EQ(user_.table.erase_record(table, hash, erased), Effect::done);
        user_.table.reclaim();
        RecordName later = put();
        for (int i = 0; i < 1000 && later.block != erased.block; ++i) {
            ASSERT_EQ(user_.table.erase_record(table, hash, later), Effect::done);
            user_.table.reclaim();
            later = put();
        }
        ASSERT_EQ(later.block, erased.block) << "the memory was used again";
        const auto read = [](const char*, std::uint32_t, const RecordName&) {};
        EXPECT_EQ(user_.table.find_record(table, hash, erased, read), Effect::absent);
        EXPECT_EQ(user_.table.erase_record(table, hash, erased), Effect::absent);
        EXPECT_EQ(user_.table.find_record(table, hash, later, read), Effect::done);
        user_.table.destroy(table, 0);
    }
}

// Another thread may retire a record after this one has found it in a slot: then it has no mark.
TEST_F(WalkTest, a_name_without_a_mark_names_no_record) {
    const BlockNumber table = user_.table.make({2, true});
    const EntryKey key = key_of("a");
    RecordName name = user_.table.put(table, {key, value_of("1"), PutMode::insert}).record;
    auto& first =
        reinterpret_cast<EntryRecord<std::atomic>*>(user_.blocks.base() + offset_of(name.block))
            ->claim;
    const std::uint64_t in_use = first.load(std::memory_order_relaxed);
    first.store(claim::by(1, 0, 0), std::memory_order_relaxed);
    name.mark = claim::no_mark;
    const auto read = [](const char*, std::uint32_t, const RecordName&) {};
    EXPECT_EQ(user_.table.find_record(table, key.hash & hash_mask, name, read), Effect::absent);
    first.store(in_use, std::memory_order_relaxed);
    user_.table.destroy(table, 0);
}

TEST_F(WalkTest, all_records_of_a_heap_have_different_marks) {
    User<std::atomic> other(shared_, participants_.data(), 1, 1);
    std::set<std::uint64_t> marks{claim::no_mark};
    for (const bool has_many : {false, true}) {
        const BlockNumber table = user_.table.make({2, true, has_many});
        for (std::uint64_t i = 0; i < 2 * Participant<std::atomic>::marks_at_once; ++i) {
            HashTable<std::atomic>& one = i % 3 == 0 ? other.table : user_.table;
            const std::string key = "key " + std::to_string(i % 7);
            const RecordName record =
                one.put(table, {key_of(key), value_of("1"), PutMode::insert}).record;
            EXPECT_TRUE(marks.insert(record.mark).second) << "mark " << record.mark;
            ASSERT_EQ(one.erase_record(table, key_of(key).hash & hash_mask, record), Effect::done);
        }
        user_.table.destroy(table, 0);
    }
}

TEST_F(WalkTest, calls_and_walks_return_the_same_name_of_a_record) {
    const BlockNumber table = user_.table.make({2, true});
    const PutEffect put = user_.table.put(table, {key_of("a"), value_of("long"), PutMode::insert});
    EXPECT_EQ(put.value_bytes, 4U);
    const PutEffect again = user_.table.put(table, {key_of("a"), value_of("2"), PutMode::insert});
    EXPECT_EQ(again.record, put.record);
    EXPECT_EQ(again.value_bytes, 4U) << "the entry has its old value";
    RecordName found;
    (void)user_.table.find(
        table, key_of("a"),
        [&](const char*, std::uint32_t, const RecordName& record) { found = record; });
    EXPECT_EQ(found, put.record);
    WalkPlace after;
    (void)user_.table.walk_key(table, key_of("a"), after, [&](const VisitedEntry& entry) {
        EXPECT_EQ(entry.record, put.record);
        return Visited::stop_here;
    });
    const PutEffect assigned =
        user_.table.put(table, {key_of("a"), value_of("other"), PutMode::assign});
    EXPECT_EQ(assigned.value_bytes, 5U);
    EXPECT_NE(assigned.record.mark, put.record.mark);
    user_.table.destroy(table, 0);
}

}  // namespace
}  // namespace acp::table
