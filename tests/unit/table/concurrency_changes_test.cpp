// SPDX-License-Identifier: BSD-3-Clause
// Several users at once under the seeded scheduler, whose memory is as weak as C++ allows: keys are
// counted up and down, values are replaced if they are the expected ones, entries are erased by
// their records, and walks run at the same time.
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "support/interleave.hpp"
#include "support/random.hpp"
#include "table_memory.hpp"

namespace acp::table {
namespace {

namespace sched = test::sched;

using Scheduled = User<sched::Atomic>;

constexpr std::uint32_t users = 3;

std::string key_number(std::uint64_t number) {
    return "key " + std::to_string(number);
}

// A table and its users.
struct Stage {
    Stage(std::uint64_t seed_of_run, const TableShape& shape, std::uint64_t hash_mask_used)
        : seed(seed_of_run), hash_mask(hash_mask_used) {
        for (std::uint32_t i = 0; i < users; ++i) all.emplace_back(shared, pages.data(), i, 1);
        table = all[0].table.make(shape);
        all[0].table.keep();
    }

    explicit Stage(std::uint64_t seed_of_run) : Stage(seed_of_run, {}, table::hash_mask) {}

    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    ~Stage() {
        EXPECT_TRUE(all[0].table.destroy(table, 0));
        for (Scheduled& user : all) user.table.reclaim();
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when();
    }

    [[nodiscard]] HashTable<sched::Atomic>& of(std::uint32_t user) { return all[user].table; }

    // The hash has few bits, so that chains are long and keys share hashes.
    [[nodiscard]] EntryKey hashed(const std::string& text) const {
        EntryKey key = key_of(text);
        key.hash &= hash_mask;
        return key;
    }

    [[nodiscard]] std::string when() const { return "seed " + std::to_string(seed); }

    // Runs act(user, random) as all users at once.
    void run(const std::function<void(std::uint32_t user, test::Random& random)>& act) {
        std::deque<test::Random> randoms;
        std::vector<std::function<void()>> bodies;
        for (std::uint32_t i = 0; i < users; ++i) {
            test::Random& random = randoms.emplace_back(seed * 8 + i);
            bodies.emplace_back([&, i] { act(i, random); });
        }
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, bodies).failure, "");
    }

    [[nodiscard]] std::string value_of_key(std::uint32_t user, const std::string& key) {
        std::string found;
        (void)of(user).find(table, hashed(key),
                            [&](const char* value, std::uint32_t bytes, const RecordName&) {
                                found.assign(value, bytes);
                            });
        return found;
    }

    std::uint64_t seed;
    std::uint64_t hash_mask;
    SharedHeap shared;
    SharedPages pages{Participants<sched::Atomic>::bytes(participants_max)};
    std::deque<Scheduled> all;
    BlockNumber table = 0;
};

// Each user subtracts at most what it has added, so each call must succeed and the sum is known.
void count_up_and_down(std::uint64_t seed, std::uint32_t keys, std::uint32_t operations) {
    Stage stage(seed);
    std::vector<std::uint64_t> own(std::size_t{users} * keys);
    stage.run([&](std::uint32_t user, test::Random& random) {
        for (std::uint32_t i = 0; i < operations; ++i) {
            const std::uint64_t which = random.below(keys);
            const std::string key = key_number(which);
            std::uint64_t& added = own[user * keys + which];
            if (added != 0 && random.below(2) == 0) {
                const CountEffect taken =
                    stage.of(user).subtract(stage.table, stage.hashed(key), added);
                EXPECT_EQ(taken.effect, Effect::done) << stage.when() << ", " << key;
                added = 0;
            } else {
                const std::uint64_t number = 1 + random.below(3);
                added += number;
                const CountEffect put = stage.of(user).add(stage.table, stage.hashed(key), number);
                EXPECT_EQ(put.effect, Effect::done) << stage.when() << ", " << key;
                EXPECT_GE(put.count, added) << stage.when() << ", " << key;
            }
        }
    });
    std::uint64_t there = 0;
    for (std::uint32_t which = 0; which < keys; ++which) {
        std::uint64_t sum = 0;
        for (std::uint32_t user = 0; user < users; ++user) sum += own[user * keys + which];
        const std::string value = stage.value_of_key(0, key_number(which));
        std::uint64_t count = 0;
        if (!value.empty()) std::memcpy(&count, value.data(), sizeof count);
        EXPECT_EQ(count, sum) << stage.when() << ", " << key_number(which);
        there += sum != 0 ? 1 : 0;
    }
    EXPECT_EQ(stage.of(0).entries(stage.table), there) << stage.when();
}

TEST(ConcurrentChanges, one_key_is_counted_up_and_down_and_no_count_is_lost) {
    sched::for_each_seed(1'000, [](std::uint64_t seed) { count_up_and_down(seed, 1, 8); });
}

TEST(ConcurrentChanges, keys_of_a_growing_table_are_counted_up_and_down) {
    sched::for_each_seed(500, [](std::uint64_t seed) { count_up_and_down(seed, 12, 24); });
}

// With these seeds a late helper of a migration reads a record that was retired after another one
// had ended the migration, and so sorts it into the wrong half.
TEST(ConcurrentChanges, a_late_helper_of_a_migration_finds_no_damage) {
    for (const std::uint64_t seed : {720U, 1003U, 1572U, 1752U, 4255U, 4268U})
        count_up_and_down(seed, 12, 24);
    count_up_and_down(608, 30, 60);
}

TEST(ConcurrentChanges, a_number_is_inserted_by_the_first_and_added_to_by_all_others) {
    sched::for_each_seed(1'000, [](std::uint64_t seed) {
        Stage stage(seed);
        std::uint32_t inserted = 0;
        stage.run([&](std::uint32_t user, test::Random&) {
            for (std::uint32_t i = 0; i < 3; ++i) {
                std::uint64_t old = 0;
                const Effect effect =
                    stage.of(user).fetch_add_or_insert(stage.table, stage.hashed("key n"), 5, old);
                EXPECT_TRUE(effect == Effect::absent || effect == Effect::done);
                inserted += effect == Effect::absent ? 1 : 0;
            }
        });
        EXPECT_EQ(inserted, 1U) << stage.when();
        const std::uint64_t sum = 5 * 3 * users;
        EXPECT_EQ(stage.value_of_key(0, "key n"),
                  std::string(reinterpret_cast<const char*>(&sum), sizeof sum))
            << stage.when();
    });
}

// Each user increments a number by a loop of find and replace. The number has `width` characters: 8
// are replaced in place.
void raise_by_replacing(std::uint64_t seed, std::size_t width) {
    constexpr std::uint32_t rounds = 4;
    Stage stage(seed);
    const auto text_of = [width](std::uint64_t number) {
        const std::string digits = std::to_string(number);
        return std::string(width - digits.size(), '0') + digits;
    };
    ASSERT_EQ(stage.of(0).insert(stage.table, stage.hashed("key r"), value_of(text_of(0))),
              Effect::done);
    stage.run([&](std::uint32_t user, test::Random&) {
        for (std::uint32_t i = 0; i < rounds; ++i) {
            for (Effect effect = Effect::present; effect != Effect::done;) {
                const std::string old = stage.value_of_key(user, "key r");
                if (old.size() != width) {
                    ADD_FAILURE() << stage.when() << ": the value is \"" << old << '"';
                    return;
                }
                const std::string next = text_of(std::stoull(old) + 1);
                effect = stage.of(user)
                             .put(stage.table, {stage.hashed("key r"), value_of(next),
                                                PutMode::replace, value_of(old), 0})
                             .effect;
                EXPECT_TRUE(effect == Effect::done || effect == Effect::present) << stage.when();
            }
        }
    });
    EXPECT_EQ(stage.value_of_key(0, "key r"), text_of(std::uint64_t{users} * rounds))
        << stage.when();
}

TEST(ConcurrentChanges, replacing_what_is_expected_is_a_compare_and_swap) {
    sched::for_each_seed(500, [](std::uint64_t seed) {
        raise_by_replacing(seed, 8);
        raise_by_replacing(seed, 20);
    });
}

// An entry that exists during the whole walk is visited once, while other users insert, erase and
// replace.
void walk_beside_changes(std::uint64_t seed,
                         const TableShape& shape,
                         std::uint64_t hash_mask_used) {
    constexpr std::uint32_t kept = 10;
    Stage stage(seed, shape, hash_mask_used);
    const PutMode mode = shape.has_many ? PutMode::add : PutMode::insert;
    // Entries that stay; all have one key, where the table allows that.
    const auto kept_key = [&](std::uint32_t which) {
        return key_number(shape.has_many ? which / 4 : which);
    };
    std::map<std::string, int> wanted;
    for (std::uint32_t which = 0; which < kept; ++which) {
        const std::string key = kept_key(which);
        ++wanted[key];
        ASSERT_EQ(stage.of(0).put(stage.table, {stage.hashed(key), value_of(key), mode}).effect,
                  Effect::done);
    }
    std::map<std::string, int> seen;
    stage.run([&](std::uint32_t user, test::Random& random) {
        if (user == 0) {
            WalkPlace after;
            const Visited then = random.below(2) == 0 ? Visited::go_on : Visited::stop_here;
            while (stage.of(0).walk(stage.table, after, [&](const VisitedEntry& entry) {
                ++seen[std::string(entry.key, entry.key_bytes)];
                return then;
            }) == Walked::more) {
            }
            return;
        }
        for (std::uint32_t i = 0; i < 8; ++i) {
            const std::string other = key_number(100 * user + random.below(6));
            const std::string text(1 + random.below(30), 'v');
            if (random.below(3) == 0) {
                (void)stage.of(user).erase(stage.table, stage.hashed(other));
            } else {
                (void)stage.of(user).put(stage.table, {stage.hashed(other), value_of(text), mode});
            }
            if (shape.has_many) continue;
            (void)stage.of(user).assign(
                stage.table, stage.hashed(kept_key(static_cast<std::uint32_t>(random.below(kept)))),
                value_of(text));
        }
    });
    for (const auto& [key, times] : wanted)
        EXPECT_EQ(seen[key], times) << stage.when() << ", " << key;
}

TEST(ConcurrentChanges, a_walk_visits_once_what_stays_while_the_table_grows) {
    sched::for_each_seed(400, [](std::uint64_t seed) {
        walk_beside_changes(seed, {.slots = 1, .may_grow = true, .has_many = false, .id = 0},
                            hash_mask);
    });
}

TEST(ConcurrentChanges, a_walk_visits_once_keys_of_one_hash) {
    sched::for_each_seed(400, [](std::uint64_t seed) {
        walk_beside_changes(seed, {.slots = 1, .may_grow = true, .has_many = false, .id = 0}, 1);
    });
}

TEST(ConcurrentChanges, a_walk_visits_once_each_entry_of_a_key) {
    sched::for_each_seed(400, [](std::uint64_t seed) {
        walk_beside_changes(seed, {.slots = 1, .may_grow = true, .has_many = true, .id = 0},
                            hash_mask);
    });
}

// Exactly one of several users erases the entry of a record, and the number of entries is that of
// insertions less erasures.
TEST(ConcurrentChanges, the_entry_of_a_record_is_erased_once) {
    sched::for_each_seed(1'000, [](std::uint64_t seed) {
        Stage stage(seed, {.slots = 1, .may_grow = true, .has_many = true, .id = 0}, hash_mask);
        const std::string text = "key m";
        const EntryKey key = stage.hashed(text);
        std::array<RecordName, 3> records{};
        for (RecordName& record : records) {
            record = stage.of(0).put(stage.table, {key, value_of("value"), PutMode::add}).record;
        }
        std::int64_t balance = static_cast<std::int64_t>(records.size());
        std::array<std::uint32_t, 3> erased{};
        stage.run([&](std::uint32_t user, test::Random& random) {
            const std::uint64_t first = random.below(records.size());
            for (std::size_t i = 0; i < records.size(); ++i) {
                const std::size_t which = (first + i) % records.size();
                if (stage.of(user).erase_record(stage.table, key.hash, records[which]) ==
                    Effect::done) {
                    ++erased[which];
                    --balance;
                }
            }
            const PutEffect put =
                stage.of(user).put(stage.table, {key, value_of("other"), PutMode::add});
            EXPECT_EQ(put.effect, Effect::done);
            ++balance;
        });
        EXPECT_EQ(stage.of(0).entries(stage.table), static_cast<std::uint64_t>(balance))
            << stage.when();
        std::int64_t there = 0;
        WalkPlace after;
        (void)stage.of(0).walk_key(stage.table, key, after, [&](const VisitedEntry&) {
            ++there;
            return Visited::go_on;
        });
        EXPECT_EQ(there, balance) << stage.when();
    });
}

}  // namespace
}  // namespace acp::table
