// SPDX-License-Identifier: BSD-3-Clause
// Several users at once, under the seeded scheduler, whose memory is as weak as C++ allows, and as
// processes. Few keys make users contend; blocks are freed early, and poisoned.
#include <array>
#include <deque>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/interleave.hpp"
#include "support/random.hpp"
#include "support/scoped_watchdog.hpp"
#include "table_memory.hpp"

namespace acp::table {
namespace {

namespace sched = test::sched;

std::string key_number(std::uint64_t number) {
    return "key " + std::to_string(number);
}

// A value from which its key can be read, and whether it is whole.
std::string value_for(const std::string& key, std::uint64_t number) {
    std::string value = key + " = " + std::to_string(number) + " ";
    value.append(number % 40, static_cast<char>('a' + number % 26));
    return value;
}

bool is_value_for(const std::string& key, const std::string& value) {
    if (value.rfind(key + " = ", 0) != 0) return false;
    const std::uint64_t number = std::stoull(value.substr(key.size() + 3));
    return value == value_for(key, number);
}

// A user's operations on each key, by their results.
struct Tally {
    std::int64_t inserted = 0;
    std::int64_t erased = 0;
    bool has_assigned = false;
};

template <template <class> class Atomic>
class Actor {
public:
    //   hash_mask_used  the bits of the hash that are used: few bits make long chains
    Actor(const SharedHeap& shared,
          char* participants,
          std::uint32_t number,
          std::uint32_t batch,
          std::uint64_t hash_mask_used = ~std::uint64_t{0})
        : user_(shared, participants, number, batch), number_(number), hash_mask_(hash_mask_used) {}

    // Random operations of a user. Returns whether all results were right.
    bool act(BlockNumber table,
             std::uint64_t seed,
             std::uint32_t operations,
             std::uint32_t keys,
             Tally* tallies) {
        test::Random random(seed * 8 + number_);
        for (std::uint32_t i = 0; i < operations; ++i) {
            const std::uint64_t which = random.below(keys);
            const std::string key = key_number(which);
            switch (random.below(4)) {
                case 0:
                    if (user_.table.erase(table, hashed(key)) == Effect::done)
                        ++tallies[which].erased;
                    break;
                case 1:
                    if (!is_found_whole(table, key)) return false;
                    break;
                default:
                    const std::string value = value_for(key, random.below(1000));
                    if (user_.table.insert(table, hashed(key), value_of(value)) == Effect::done)
                        ++tallies[which].inserted;
            }
        }
        return true;
    }

    bool insert(BlockNumber table, std::uint64_t which) {
        const std::string key = key_number(which);
        const std::string value = value_for(key, which);
        return user_.table.insert(table, hashed(key), value_of(value)) == Effect::done;
    }

    bool assign(BlockNumber table, std::uint64_t which, std::uint64_t number) {
        const std::string key = key_number(which);
        const std::string value = value_for(key, number);
        return user_.table.assign(table, hashed(key), value_of(value)) == Effect::done;
    }

    bool erase(BlockNumber table, std::uint64_t which) {
        const std::string key = key_number(which);
        return user_.table.erase(table, hashed(key)) == Effect::done;
    }

    bool is_found_whole(BlockNumber table, const std::string& key) {
        bool is_whole = true;
        (void)user_.table.find(
            table, hashed(key),
            [&](const char* value, std::uint32_t bytes, const RecordName& /*record*/) {
                is_whole = is_value_for(key, std::string(value, bytes));
            });
        return is_whole;
    }

    [[nodiscard]] bool has(BlockNumber table, const std::string& key) {
        return user_.table.find(table, hashed(key), [](auto&&...) {}) == Effect::done;
    }

    // Searches for the keys 0 .. count-1, each step for all; told() takes each key's number and result.
    template <typename Told>
    void find_in_steps(BlockNumber table, std::uint32_t count, const Told& told) {
        const Finder<Atomic> finder = user_.table.finder();
        std::vector<Spot<Atomic>> spots;
        std::vector<typename Finder<Atomic>::Trail> trails;
        KnownRoot<Atomic> known;
        for (std::uint32_t which = 0; which < count; ++which)
            spots.push_back(finder.prefetch_bucket(known, table, hashed(key_number(which)).hash));
        for (std::uint32_t which = 0; which < count; ++which)
            trails.push_back(finder.follow(table, spots[which], hashed(key_number(which)).hash));
        for (std::uint32_t which = 0; which < count; ++which) {
            const std::string key = key_number(which);
            bool is_whole = true;
            const Effect effect = finder.find_on(
                table, spots[which], trails[which], hashed(key),
                [&](const char* value, std::uint32_t bytes, const RecordName& /*record*/) {
                    is_whole = is_value_for(key, std::string(value, bytes));
                });
            told(which, effect == Effect::done, is_whole);
        }
    }

    [[nodiscard]] HashTable<Atomic>& table() { return user_.table; }

private:
    [[nodiscard]] EntryKey hashed(const std::string& text) const {
        EntryKey key = key_of(text);
        key.hash &= hash_mask_;
        return key;
    }

    User<Atomic> user_;
    std::uint32_t number_;
    std::uint64_t hash_mask_;
};

// Each key has one entry if it was inserted once more often than erased, and none otherwise.
template <template <class> class Atomic>
void expect_agreement(Actor<Atomic>& actor,
                      BlockNumber table,
                      std::uint32_t keys,
                      const Tally* tallies,
                      std::uint32_t users,
                      const std::string& when) {
    std::uint64_t there = 0;
    for (std::uint32_t which = 0; which < keys; ++which) {
        std::int64_t sum = 0;
        for (std::uint32_t user = 0; user < users; ++user) {
            sum += tallies[user * keys + which].inserted - tallies[user * keys + which].erased;
        }
        const std::string key = key_number(which);
        EXPECT_TRUE(sum == 0 || sum == 1) << when << ", " << key << ": " << sum;
        EXPECT_EQ(actor.has(table, key), sum == 1) << when << ", " << key;
        EXPECT_TRUE(actor.is_found_whole(table, key)) << when << ", " << key;
        there += static_cast<std::uint64_t>(sum);
    }
    EXPECT_EQ(actor.table().entries(table), there) << when;
}

struct Course {
    std::uint32_t operations = 0;  // number for each user
    std::uint32_t keys = 0;
    std::uint32_t slots = 1;
    std::uint32_t there = 0;  // how many keys are inserted at the start
    std::uint64_t hash_mask = ~std::uint64_t{0};
};

void run_scheduled(std::uint64_t seed, const Course& course) {
    const auto [operations, keys, slots, there, hash_mask_used] = course;
    constexpr std::uint32_t users = 3;
    SharedHeap shared;
    const SharedPages participants(Participants<sched::Atomic>::bytes(participants_max));
    std::deque<Actor<sched::Atomic>> actors;
    for (std::uint32_t i = 0; i < users; ++i)
        actors.emplace_back(shared, participants.data(), i, 1, hash_mask_used);
    const BlockNumber table = actors[0].table().make({slots, true});
    actors[0].table().keep();
    std::vector<Tally> tallies(std::size_t{users} * keys);
    for (std::uint32_t which = 0; which < there; ++which)
        tallies[which].inserted = actors[0].insert(table, which) ? 1 : 0;
    std::array<bool, users> is_well{};
    sched::Options options;
    options.seed = seed;
    const auto body = [&](std::uint32_t i) {
        return [&, i] {
            is_well[i] = actors[i].act(table, seed, course.operations, course.keys,
                                       &tallies[std::size_t{i} * course.keys]);
        };
    };
    const sched::Outcome outcome = sched::run(options, {body(0), body(1), body(2)});
    EXPECT_EQ(outcome.failure, "");
    const std::string when = "seed " + std::to_string(seed);
    for (const bool one : is_well) EXPECT_TRUE(one) << when << ": a value was not whole";
    expect_agreement(actors[0], table, keys, tallies.data(), users, when);
    actors[0].table().destroy(table, 0);
    for (auto& actor : actors) actor.table().reclaim();
    EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
}

TEST(Concurrency, users_of_few_keys_agree_on_a_weak_memory) {
    sched::for_each_seed(
        1500, [](std::uint64_t seed) { run_scheduled(seed, {.operations = 12, .keys = 2}); });
}

TEST(Concurrency, users_of_a_growing_table_agree_on_a_weak_memory) {
    sched::for_each_seed(
        1000, [](std::uint64_t seed) { run_scheduled(seed, {.operations = 20, .keys = 24}); });
}

TEST(Concurrency, users_of_long_chains_agree_on_a_weak_memory) {
    sched::for_each_seed(800, [](std::uint64_t seed) {
        run_scheduled(seed, {.operations = 24, .keys = 24, .hash_mask = 1});
    });
}

TEST(Concurrency, users_of_buckets_that_are_moved_agree_on_a_weak_memory) {
    sched::for_each_seed(1500, [](std::uint64_t seed) {
        run_scheduled(seed, {.operations = 14, .keys = 23, .slots = 4, .there = 21});
    });
}

// A reader stops before each access; then its bucket is migrated, and the entry erased or assigned.
// Without insertions the growth does not end: only the bucket's word shows the migration.
TEST(Concurrency, an_entry_that_is_moved_and_changed_is_read_whole_and_found_while_it_is_there) {
    constexpr std::uint32_t slots = 8;
    constexpr std::uint32_t read_keys = 8;
    constexpr std::uint32_t there = slots * NextArray<sched::Atomic>::entries_per_bucket;
    sched::for_each_death(0, 1, [](const sched::Options& options) {
        SharedHeap shared;
        const SharedPages participants(Participants<sched::Atomic>::bytes(participants_max));
        std::deque<Actor<sched::Atomic>> actors;
        for (std::uint32_t i = 0; i < 3; ++i)
            actors.emplace_back(shared, participants.data(), i, 1);
        const BlockNumber table = actors[1].table().make({slots, true});
        actors[1].table().keep();
        for (std::uint32_t which = 0; which < there; ++which)
            EXPECT_TRUE(actors[1].insert(table, which));
        // A user's first insertion checks whether the table must grow, and migrates two buckets.
        EXPECT_TRUE(actors[2].insert(table, there));
        const auto is_erased = [](std::uint32_t which) { return which % 2 == 0; };
        const auto read = [&] {
            for (std::uint32_t which = 0; which < read_keys; ++which) {
                const std::string key = key_number(which);
                EXPECT_TRUE(actors[0].is_found_whole(table, key)) << options.victim_operation;
                EXPECT_TRUE(is_erased(which) || actors[0].has(table, key))
                    << options.victim_operation;
            }
        };
        const auto change = [&] {
            for (std::uint32_t which = there; which-- > 0;) {
                EXPECT_TRUE(is_erased(which) ? actors[1].erase(table, which)
                                             : actors[1].assign(table, which, which + 1));
            }
        };
        const sched::Outcome outcome = sched::run(options, {read, change});
        EXPECT_EQ(outcome.failure, "");
        EXPECT_EQ(actors[1].table().buckets(table), 2 * slots) << "it grows";
        return outcome.is_victim_hit;
    });
}

// The steps of many finds alternate; buckets are migrated and some entries erased between them.
TEST(Concurrency, finds_in_steps_see_all_that_stays_and_no_half_value) {
    constexpr std::uint32_t slots = 4;
    constexpr std::uint32_t there = slots * NextArray<sched::Atomic>::entries_per_bucket;
    constexpr std::uint32_t staying = there / 2;
    const auto run = [](std::uint64_t seed, std::uint64_t hash_mask_used) {
        SharedHeap shared;
        const SharedPages participants(Participants<sched::Atomic>::bytes(participants_max));
        std::deque<Actor<sched::Atomic>> actors;
        for (std::uint32_t i = 0; i < 3; ++i)
            actors.emplace_back(shared, participants.data(), i, 1, hash_mask_used);
        const BlockNumber table = actors[1].table().make({slots, true});
        actors[1].table().keep();
        for (std::uint32_t which = 0; which < there; ++which)
            EXPECT_TRUE(actors[1].insert(table, which));
        // A user's first insertion checks whether the table must grow, and migrates two buckets.
        EXPECT_TRUE(actors[2].insert(table, there));
        const auto read = [&] {
            for (std::uint32_t turn = 0; turn < 3; ++turn) {
                actors[0].find_in_steps(
                    table, there, [&](std::uint32_t which, bool is_there, bool is_whole) {
                        EXPECT_TRUE(is_whole) << "seed " << seed << ", key " << which;
                        EXPECT_TRUE(is_there || which >= staying)
                            << "seed " << seed << ", key " << which;
                    });
            }
        };
        const auto erase = [&] {
            EXPECT_TRUE(actors[1].insert(table, there + 1));
            for (std::uint32_t which = staying; which < there; ++which)
                EXPECT_TRUE(actors[1].erase(table, which));
        };
        const auto insert = [&] {
            for (std::uint32_t which = there + 2; which < there + 6; ++which)
                EXPECT_TRUE(actors[2].insert(table, which));
        };
        sched::Options options;
        options.seed = seed;
        const sched::Outcome outcome = sched::run(options, {read, erase, insert});
        EXPECT_EQ(outcome.failure, "");
        actors[0].find_in_steps(table, there, [&](std::uint32_t which, bool is_there, bool) {
            EXPECT_EQ(is_there, which < staying) << "seed " << seed << ", key " << which;
        });
        actors[0].table().destroy(table, 0);
    };
    constexpr std::uint64_t one_bucket = ~std::uint64_t{0xffff};
    sched::for_each_seed(700, [&](std::uint64_t seed) { run(seed, ~std::uint64_t{0}); });
    sched::for_each_seed(300, [&](std::uint64_t seed) { run(seed, one_bucket); });
}

// A chain is full, lengthened and migrated at once, while other users search it for room.
TEST(Concurrency, nothing_is_inserted_into_a_chain_that_is_moved) {
    constexpr std::uint32_t users = 3;
    constexpr std::uint32_t there = Bucket<sched::Atomic>::slots_max - 1;
    constexpr std::uint32_t inserted_by_each = 3;
    const auto run = [](std::uint64_t seed, std::uint64_t slots, std::uint64_t mask) {
        SharedHeap shared;
        const SharedPages participants(Participants<sched::Atomic>::bytes(participants_max));
        std::deque<Actor<sched::Atomic>> actors;
        for (std::uint32_t i = 0; i < users; ++i) {
            actors.emplace_back(shared, participants.data(), i, 1, mask);
        }
        const BlockNumber table = actors[0].table().make({slots, true});
        actors[0].table().keep();
        for (std::uint32_t which = 0; which < there; ++which)
            EXPECT_TRUE(actors[0].insert(table, which));
        // A table with more slots is made to grow by a false number of entries.
        auto& head =
            *reinterpret_cast<Head<sched::Atomic>*>(shared.blocks.data() + offset_of(table));
        if (slots != 1) {
            head.counted[1].entries.store(
                counter::insertion * NextArray<sched::Atomic>::entries_per_bucket * slots,
                std::memory_order_relaxed);
        }
        sched::Options options;
        options.seed = seed;
        const auto body = [&](std::uint32_t user) {
            return [&, user] {
                for (std::uint32_t i = 0; i < inserted_by_each; ++i) {
                    EXPECT_TRUE(actors[user].insert(table, there + user * inserted_by_each + i));
                }
            };
        };
        const sched::Outcome outcome = sched::run(options, {body(0), body(1), body(2)});
        EXPECT_EQ(outcome.failure, "");
        for (std::uint32_t which = 0; which < there + users * inserted_by_each; ++which) {
            EXPECT_TRUE(actors[0].has(table, key_number(which)))
                << "seed " << seed << ", key " << which;
            EXPECT_TRUE(actors[0].erase(table, which)) << "seed " << seed << ", key " << which;
            EXPECT_FALSE(actors[0].has(table, key_number(which)))
                << "seed " << seed << ", key " << which << ", twice";
        }
        actors[0].table().destroy(table, 0);
    };
    constexpr std::uint64_t other_fragments_only = hash_mask & ~std::uint64_t{0xffff};
    sched::for_each_seed(3000, [&](std::uint64_t seed) { run(seed, 1, other_fragments_only); });
    // Here slots hold the bit that selects one of two buckets at the split.
    constexpr std::uint64_t slots = std::uint64_t{1} << (slot::fragment_at - split_last_bits);
    sched::for_each_seed(1000,
                         [&](std::uint64_t seed) { run(seed, slots, hash_mask & ~(slots - 1)); });
}

// A late migrator reads a record that another entry reuses, and so computes another chain than the
// table has. It must not add a bucket to a chain that was already migrated.
TEST(Concurrency, a_late_mover_lengthens_no_chain_that_was_moved) {
    constexpr std::uint32_t users = 3;
    constexpr std::uint64_t slots = 2;
    constexpr std::uint32_t there = 18;
    constexpr std::uint32_t changed_by_each = 6;
    // One bucket has all entries; the bit by which it is split is not in the slots.
    constexpr std::uint64_t mask = ~(0xffff ^ std::uint64_t{1} << (split_last_bits + 1));
    sched::for_each_seed(3000, [mask](std::uint64_t seed) {
        SharedHeap shared;
        const SharedPages participants(Participants<sched::Atomic>::bytes(participants_max));
        std::deque<Actor<sched::Atomic>> actors;
        for (std::uint32_t i = 0; i < users; ++i)
            actors.emplace_back(shared, participants.data(), i, 1, mask);
        const BlockNumber table = actors[0].table().make({slots, true});
        actors[0].table().keep();
        for (std::uint32_t which = 0; which < there; ++which)
            EXPECT_TRUE(actors[0].insert(table, which));
        auto& head =
            *reinterpret_cast<Head<sched::Atomic>*>(shared.blocks.data() + offset_of(table));
        head.counted[1].entries.store(
            counter::insertion * NextArray<sched::Atomic>::entries_per_bucket * slots,
            std::memory_order_relaxed);
        const auto body = [&](std::uint32_t user) {
            return [&, user] {
                const std::uint32_t first = user * changed_by_each;
                for (std::uint32_t i = first; i < first + changed_by_each; ++i) {
                    EXPECT_TRUE(actors[user].insert(table, there + i));
                    EXPECT_TRUE(actors[user].erase(table, i));
                }
            };
        };
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {body(0), body(1), body(2)}).failure, "");
        for (std::uint32_t which = 0; which < there + users * changed_by_each; ++which) {
            EXPECT_EQ(actors[0].has(table, key_number(which)), which >= there)
                << "seed " << seed << ", key " << which;
            EXPECT_EQ(actors[0].erase(table, which), which >= there)
                << "seed " << seed << ", key " << which;
            EXPECT_FALSE(actors[0].has(table, key_number(which)))
                << "seed " << seed << ", key " << which << ", twice";
        }
        actors[0].table().destroy(table, 0);
        for (Actor<sched::Atomic>& actor : actors) actor.table().reclaim();
        EXPECT_EQ(shared.blocks_in_use(), 0U) << "seed " << seed;
    });
}

TEST(Concurrency, threads_of_a_growing_table_agree) {
    const test::ScopedWatchdog watchdog("threads change a table");
    constexpr std::uint32_t users = 4;
    constexpr std::uint32_t keys = 300;
    SharedHeap shared;
    const SharedPages participants(Participants<std::atomic>::bytes(participants_max));
    std::vector<Tally> tallies(std::size_t{users} * keys);
    Actor<std::atomic> own(shared, participants.data(), users, 1);
    const BlockNumber table = own.table().make({1, true});
    own.table().keep();
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < users; ++i) {
        threads.emplace_back([&, i] {
            Actor<std::atomic> actor(shared, participants.data(), i, 1 + i);
            EXPECT_TRUE(actor.act(table, 7, 15'000, keys, &tallies[std::size_t{i} * keys]));
        });
    }
    for (std::thread& thread : threads) thread.join();
    expect_agreement(own, table, keys, tallies.data(), users, "after all");
    for (std::uint32_t i = 0; i < users; ++i) {
        EXPECT_TRUE(own.table().recover(i, [](std::uint32_t) { return true; }));
    }
    own.table().destroy(table, 0);
    own.table().reclaim();
    EXPECT_EQ(shared.blocks_in_use(), 0U);
}

void run_processes(std::uint32_t users,
                   std::uint32_t keys,
                   std::uint32_t operations,
                   std::uint32_t batch) {
    const test::ScopedWatchdog watchdog("processes change a table");
    SharedHeap shared;
    const SharedPages participants(Participants<std::atomic>::bytes(participants_max));
    const SharedPages tally_pages(std::uint64_t{users} * keys * sizeof(Tally));
    auto* tallies = reinterpret_cast<Tally*>(tally_pages.data());
    Actor<std::atomic> own(shared, participants.data(), users, batch);
    const BlockNumber table = own.table().make({1, true});
    own.table().keep();
    std::vector<pid_t> children;
    for (std::uint32_t i = 0; i < users; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            Actor<std::atomic> actor(shared, participants.data(), i, batch);
            _exit(actor.act(table, keys, operations, keys, tallies + std::size_t{i} * keys) ? 0
                                                                                            : 5);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    expect_agreement(own, table, keys, tallies, users, "after all");
    for (std::uint32_t i = 0; i < users; ++i) {
        EXPECT_TRUE(own.table().recover(i, [](std::uint32_t) { return true; }));
    }
    own.table().destroy(table, 0);
    own.table().reclaim();
    EXPECT_EQ(shared.blocks_in_use(), 0U);
}

TEST(Concurrency, processes_of_few_keys_agree) {
    run_processes(4, 3, 300'000, 1);
}

TEST(Concurrency, processes_of_a_growing_table_agree) {
    for (std::uint32_t keys = 200; keys <= 20'000; keys *= 10) run_processes(4, keys, 150'000, 16);
}

}  // namespace
}  // namespace acp::table
