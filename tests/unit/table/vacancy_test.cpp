// SPDX-License-Identifier: BSD-3-Clause
// Insertions of entries of one key: their cost does not grow with the number of the key's entries,
// and slots that erasures free are used again.
#include <csignal>
#include <string>
#include <vector>

#include "kill_scene.hpp"
#include "support/random.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::table {
namespace {

constexpr std::uint64_t id = 77;

struct Scene : TableScene<Scene> {
    Scene() : TableScene(1) {
        table = own.table.make({.slots = 1, .may_grow = false, .has_many = true, .id = id});
        own.table.keep();
    }

    RecordName add(const std::string& key) {
        const PutEffect put =
            own.table.put(table, {key_of(key), value_of("a value"), PutMode::add, {}, 0});
        EXPECT_EQ(put.effect, Effect::done);
        return put.record;
    }

    // How many accesses of shared words a call makes.
    template <typename Call>
    static std::uint64_t accesses(const Call& call) {
        constexpr std::uint64_t many = std::uint64_t{1} << 62;
        test::steps_left = many;
        call();
        const std::uint64_t left = test::steps_left;
        test::steps_left = 0;
        return many - left;
    }

    // The buckets behind the first one.
    [[nodiscard]] std::vector<BlockNumber> chain() {
        const auto& head =
            *reinterpret_cast<Head<SteppedAtomic>*>(shared.blocks.data() + offset_of(table));
        auto& array = *reinterpret_cast<BucketArray<SteppedAtomic>*>(shared.blocks.data() +
                                                                     offset_of(head.array(0)));
        std::vector<BlockNumber> all;
        for (auto* bucket = &array.bucket(0);;) {
            const BlockNumber next = link::next_in(bucket->link.load(std::memory_order_acquire));
            if (next == 0) return all;
            all.push_back(next);
            bucket =
                reinterpret_cast<Bucket<SteppedAtomic>*>(shared.blocks.data() + offset_of(next));
        }
    }

    [[nodiscard]] std::uint64_t entries_of(const std::string& key) {
        std::uint64_t count = 0;
        WalkPlace after;
        bool is_over = false;
        while (!is_over) {
            const std::uint64_t before = count;
            const auto visit = [&](const VisitedEntry& /*entry*/) {
                return ++count < before + 8 ? Visited::go_on : Visited::stop_here;
            };
            (void)own.table.walk_key(table, key_of(key), after, visit, 8);
            is_over = count < before + 8;
        }
        return count;
    }

    void act() {
        Stepped by = user(test::victim);
        for (std::uint32_t i = 0; i < 12; ++i) {
            (void)by.table.put(table, {key_of("same"), value_of("a value"), PutMode::add, {}, 0});
            done->fetch_add(1);
        }
    }

    BlockNumber table = 0;
};

TEST(Vacancy, of_a_long_chain_is_found_without_a_search_of_all_of_it) {
    Scene scene;
    constexpr std::uint64_t entries = 6'000;
    constexpr std::uint64_t last = 1'000;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < entries; ++i) {
        const std::uint64_t one = scene.accesses([&] { (void)scene.add("same"); });
        if (i >= entries - last) sum += one;
    }
    // A search of the whole chain reads some 8 words of each bucket, 7,000 in all.
    EXPECT_LT(sum / last, 700U);
    EXPECT_EQ(scene.entries_of("same"), entries);
}

TEST(Vacancy, of_chains_of_two_keys_in_turn_loses_no_entry) {
    Scene scene;
    for (int i = 0; i < 1'000; ++i) {
        (void)scene.add("same");
        (void)scene.add("other");
    }
    EXPECT_EQ(scene.entries_of("same"), 1'000U);
    EXPECT_EQ(scene.entries_of("other"), 1'000U);
}

TEST(Vacancy, that_an_erasure_leaves_is_used_again) {
    Scene scene;
    std::vector<RecordName> there;
    for (int i = 0; i < 700; ++i) there.push_back(scene.add("same"));
    const std::size_t buckets = scene.chain().size();
    test::Random random(1);
    const std::string key = "same";
    for (int i = 0; i < 5'000; ++i) {
        RecordName& one = there[random.below(there.size())];
        ASSERT_EQ(scene.own.table.erase_record(scene.table, key_of(key).hash, one), Effect::done);
        one = scene.add(key);
    }
    EXPECT_LE(scene.chain().size(), 2 * buckets);
    EXPECT_EQ(scene.entries_of(key), 700U);
}

// Another thread may erase an entry of the first buckets after this one has passed them: then its hint
// is one of them, and its next search passes the following ones twice.
TEST(Vacancy, is_found_behind_a_hint_in_any_bucket) {
    Scene scene;
    for (int i = 0; i < 400; ++i) (void)scene.add("same");
    const Participants<SteppedAtomic> all{scene.participants.data(), participants_max};
    std::uint64_t added = 0;
    for (const BlockNumber bucket : scene.chain()) {
        all[test::survivor].hint.bucket = bucket;
        all[test::survivor].hint.passed = 0;
        for (int i = 0; i < 8; ++i, ++added) (void)scene.add("same");
    }
    EXPECT_EQ(scene.entries_of("same"), 400 + added);
}

TEST(Vacancy, is_not_looked_for_in_a_chain_of_an_earlier_table_in_the_same_memory) {
    Scene scene;
    for (std::uint64_t round = 1; round < 20; ++round) {
        for (int i = 0; i < 300; ++i) (void)scene.add("same");
        EXPECT_EQ(scene.entries_of("same"), 300U);
        EXPECT_TRUE(scene.own.table.destroy(scene.table, id + round - 1));
        scene.table = scene.own.table.make(
            {.slots = 1, .may_grow = false, .has_many = true, .id = id + round});
        scene.own.table.keep();
    }
}

// The survivor uses the dead thread's participant afterwards, and with it its hint.
TEST(Vacancy, is_found_by_a_hint_of_a_killed_thread) {
    const test::ScopedWatchdog watchdog("kills of threads that note a hint");

    struct Long : Scene {
        Long() {
            for (int i = 0; i < 200; ++i) (void)add("same");
        }
    };

    const auto check = [](Long& scene, const StruckChild& child) {
        scene.recover_victim();
        const std::uint64_t done = scene.done->load();
        const std::uint64_t before = scene.entries_of("same");
        EXPECT_TRUE(before == 200 + done || before == 201 + done) << child.when();
        Stepped by = scene.user(test::victim);
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(
                by.table
                    .put(scene.table, {key_of("same"), value_of("a value"), PutMode::add, {}, 0})
                    .effect,
                Effect::done);
        }
        EXPECT_EQ(scene.entries_of("same"), before + 100) << child.when();
    };
    test::strike_everywhere<Long>({SIGKILL, 1, 7}, check);
}

}  // namespace
}  // namespace acp::table
