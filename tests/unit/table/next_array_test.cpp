// SPDX-License-Identifier: BSD-3-Clause
// The array into which a table grows is made in parts: no call clears more than one part. A thread
// that is killed or stopped with its part delays the growth and does not prevent it. The late
// zeros of a stopped thread reach no array of the table.
#include <csignal>
#include <cstring>
#include <unistd.h>

#include "kill_scene.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::table {
namespace {

using Next = NextArray<SteppedAtomic>;

constexpr std::uint64_t id = 77;
constexpr std::uint64_t slots = 1'500;  // of the first array; the next one has three parts
constexpr std::uint64_t parts = 3;
constexpr std::uint32_t keys = 12;

// A table that has few entries, and counts as many as a table that must grow.
struct Scene : TableScene<Scene> {
    Scene() : TableScene(1) {
        table = own.table.make({slots, true, false, id});
        own.table.keep();
        for (std::uint32_t key = 0; key < keys; ++key) {
            const std::string text = key_number(key);
            EXPECT_EQ(own.table.insert(table, key_of(text), value_of(text)), Effect::done);
        }
        count_more(Next::entries_per_bucket * slots);
    }

    void count_more(std::uint64_t entries) const {
        head().counted[0].entries.fetch_add(counter::insertion * entries,
                                            std::memory_order_relaxed);
    }

    [[nodiscard]] Head<SteppedAtomic>& head() const {
        return *reinterpret_cast<Head<SteppedAtomic>*>(shared.blocks.data() + offset_of(table));
    }

    [[nodiscard]] Root root() const {
        return Root::unpacked(head().root.load(std::memory_order_acquire));
    }

    void act() const {
        Stepped by = user(test::victim);
        for (std::uint64_t i = 0; i < parts; ++i) {
            advance(by, test::victim, table);
            done->fetch_add(1);
        }
    }

    // Lets the survivor advance until the table grows, as it gets more entries.
    void expect_growth(const std::string& when) {
        for (std::uint64_t i = 0; i <= parts && !root().is_growing(); ++i)
            advance(own, test::survivor, table);
        if (!root().is_growing()) {
            // A part was taken and never cleared: the array stays as it is until then.
            count_more(slots);
            for (std::uint64_t i = 0; i <= parts && !root().is_growing(); ++i)
                advance(own, test::survivor, table);
        }
        EXPECT_TRUE(root().is_growing()) << when;
    }

    // Moves all buckets; every key is there then, and no other entry.
    void expect_keys_moved(const std::string& when) {
        for (std::uint32_t other = 0; root().is_growing() && other < 10'000; ++other) {
            const std::string text = key_number(keys + other);
            ASSERT_EQ(own.table.insert(table, key_of(text), value_of(text)), Effect::done) << when;
            ASSERT_EQ(own.table.erase(table, key_of(text)), Effect::done) << when;
        }
        EXPECT_EQ(root().from, 1U) << when;
        std::uint32_t found = 0;
        for (std::uint32_t key = 0; key < 2 * keys; ++key) {
            const std::string text = key_number(key);
            const auto visit = [&](const char* value, std::uint32_t bytes, const RecordName&) {
                found += std::string_view(value, bytes) == text ? 1U : 0U;
            };
            (void)own.table.find(table, key_of(text), visit);
        }
        EXPECT_EQ(found, keys) << when;
    }

    void expect_nothing_lost(const std::string& when) {
        EXPECT_TRUE(own.table.destroy(table, id)) << when;
        own.table.reclaim();
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    BlockNumber table = 0;
};

TEST(NextArray, of_a_long_table_is_cleared_a_part_by_each_call) {
    Scene scene;
    for (std::uint64_t part = 0; part < parts; ++part) {
        EXPECT_FALSE(scene.root().is_growing());
        const std::uint64_t before = scene.own.blocks.cleared_bytes();
        scene.advance(scene.own, test::survivor, scene.table);
        const std::uint64_t bytes = scene.own.blocks.cleared_bytes() - before;
        EXPECT_GT(bytes, 0U) << part;
        EXPECT_LE(bytes, Next::part_bytes) << part;
    }
    EXPECT_TRUE(scene.root().is_growing());
    scene.expect_keys_moved("");
    scene.expect_nothing_lost("");
}

TEST(NextArray, of_a_table_that_is_destroyed_first_is_freed_with_it) {
    for (std::uint64_t calls = 1; calls < parts; ++calls) {
        Scene scene;
        for (std::uint64_t i = 0; i < calls; ++i)
            scene.advance(scene.own, test::survivor, scene.table);
        scene.expect_nothing_lost(std::to_string(calls) + " calls");
    }
}

TEST(NextArray, is_not_begun_where_the_heap_has_no_room) {
    Scene scene;
    scene.own.blocks.set_allocations_left(0);
    scene.advance(scene.own, test::survivor, scene.table);
    EXPECT_EQ(scene.head().array(1), 0U);
    scene.own.blocks.set_allocations_left(-1);
    scene.expect_growth("");
    scene.expect_keys_moved("");
    scene.expect_nothing_lost("");
}

// A part is taken by a call that never ends.
TEST(NextArray, is_replaced_once_the_table_has_grown_by_an_entry_a_bucket_and_not_before) {
    Scene scene;
    scene.advance(scene.own, test::survivor, scene.table);
    const BlockNumber first = scene.head().array(1);
    auto& array = *reinterpret_cast<BucketArray<SteppedAtomic>*>(scene.shared.blocks.data() +
                                                                 offset_of(first));
    array.parts_taken.fetch_add(1, std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < 2 * parts; ++i)
        scene.advance(scene.own, test::survivor, scene.table);
    scene.count_more(slots - 1);
    scene.advance(scene.own, test::survivor, scene.table);
    EXPECT_EQ(scene.head().array(1), first);
    EXPECT_FALSE(scene.root().is_growing());
    scene.count_more(1);
    scene.advance(scene.own, test::survivor, scene.table);
    EXPECT_NE(scene.head().array(1), first);
    scene.expect_growth("");
    scene.expect_keys_moved("");
    scene.expect_nothing_lost("");
}

TEST(NextArray, of_a_killed_thread_is_completed_or_replaced) {
    const test::ScopedWatchdog watchdog("kills of threads that clear a part");
    const auto check = [](Scene& scene, const StruckChild& child) {
        scene.recover_victim();
        scene.expect_growth(child.when());
        scene.expect_keys_moved(child.when());
        scene.expect_nothing_lost(child.when());
    };
    test::strike_everywhere<Scene>({SIGKILL}, check);
}

// The survivor replaces the array, and recovers the dead thread afterwards.
TEST(NextArray, of_a_killed_thread_is_replaced_before_the_recovery) {
    const test::ScopedWatchdog watchdog("late recoveries of threads that clear a part");
    const auto check = [](Scene& scene, const StruckChild& child) {
        scene.expect_growth(child.when());
        scene.expect_keys_moved(child.when());
        scene.recover_victim();
        scene.expect_nothing_lost(child.when());
    };
    test::strike_everywhere<Scene>({SIGKILL}, check);
}

TEST(NextArray, of_a_stopped_thread_gets_none_of_its_late_zeros) {
    const test::ScopedWatchdog watchdog("stops of threads that clear a part");
    const auto check = [](Scene& scene, StruckChild& child) {
        scene.expect_growth(child.when());
        scene.expect_keys_moved(child.when());
        child.go_on();
        scene.recover_victim();
        scene.expect_keys_moved(child.when());
        scene.expect_nothing_lost(child.when());
    };
    test::strike_everywhere<Scene>({SIGSTOP}, check);
}

TEST(NextArray, of_two_killed_threads_leaves_nothing) {
    const test::ScopedWatchdog watchdog("kills of recoveries of threads that clear a part");
    const auto check = [](Scene& scene, const std::string& when) {
        scene.expect_growth(when);
        scene.expect_keys_moved(when);
        scene.expect_nothing_lost(when);
    };
    test::kill_recoveries<Scene>({SIGKILL, 1, 5}, {SIGKILL, 1, 3}, check);
}

}  // namespace
}  // namespace acp::table
