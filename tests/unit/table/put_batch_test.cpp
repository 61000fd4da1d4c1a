// SPDX-License-Identifier: BSD-3-Clause
// Puts on several keys, whose entries are counted together: the result is that of single puts, also
// where other users change the table at the same time, the heap is full, or the process is killed
// or stopped before each access to a word of the table. In some shapes the table grows during the
// puts, or its slots hold the bit that selects a bucket.
#include <csignal>
#include <cstdint>
#include <string>

#include "kill_scene.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::table {
namespace {

constexpr std::uint32_t keys = 12;
constexpr std::uint64_t id = std::uint64_t{1} << 32;

std::string value_number(std::uint32_t number) {
    return "value " + std::to_string(number);
}

// The number of slots with which slots hold the bit that splits a bucket first.
constexpr std::uint64_t slots_that_tell = std::uint64_t{1} << (slot::fragment_at - split_last_bits);

struct Shape {
    std::uint32_t retire_batch;
    std::uint64_t slots;
};

struct Scene : TableScene<Scene> {
    explicit Scene(Shape shape) : TableScene(shape.retire_batch) {
        table =
            own.table.make({.slots = shape.slots, .may_grow = true, .has_many = false, .id = id});
        own.table.keep();
        if (shape.slots != 1) begin_growth(shape.slots);
    }

    // Starts growth by a false number of entries.
    void begin_growth(std::uint64_t slots) {
        const std::uint64_t many =
            counter::insertion * NextArray<SteppedAtomic>::entries_per_bucket * slots;
        auto& counted = head().counted[test::survivor].entries;
        counted.fetch_add(many + counter::insertion, std::memory_order_relaxed);
        for (std::uint64_t bytes = 0; bytes < 2 * slots * line_bytes;
             bytes += NextArray<SteppedAtomic>::part_bytes)
            advance(own, test::survivor, table);
        counted.fetch_add(~(many + counter::insertion) + 1, std::memory_order_relaxed);
        EXPECT_TRUE(Root::unpacked(head().root.load(std::memory_order_relaxed)).is_growing());
    }

    [[nodiscard]] Head<SteppedAtomic>& head() const {
        return *reinterpret_cast<Head<SteppedAtomic>*>(shared.blocks.data() + offset_of(table));
    }

    void act() {
        Stepped by = user(test::victim);
        // In the second batch the chain becomes full at the second key, and the table grows.
        constexpr std::uint32_t at_once = keys / 2;
        for (std::uint32_t first = 0; first < keys; first += at_once) {
            auto puts = by.table.put_batch(table);
            for (std::uint32_t i = first; i < first + at_once; ++i) {
                const std::string key = key_number(i);
                const std::string value = value_number(i);
                (void)puts.put({key_of(key), value_of(value), PutMode::insert, {}, 0});
                done->fetch_add(1);
            }
        }
    }

    [[nodiscard]] bool has(std::uint32_t key) {
        return own.table.find(table, key_of(key_number(key)),
                              [&](const char* value, std::uint32_t bytes, const RecordName&) {
                                  EXPECT_EQ(std::string(value, bytes), value_number(key));
                              }) == Effect::done;
    }

    // Checks the number of entries; call while no user changes the table.
    void expect_counted(const std::string& when) {
        std::uint64_t there = 0;
        for (std::uint32_t key = 0; key < keys; ++key) there += has(key) ? 1U : 0U;
        EXPECT_EQ(own.table.entries(table), there) << when;
        EXPECT_EQ(own.table.entries(table), there) << when << ", again";
        EXPECT_EQ(head().correction.load(std::memory_order_acquire) & correction::unknown, 0U)
            << when;
    }

    void expect_steps_done(const std::string& when) {
        for (std::uint32_t key = 0; key < keys; ++key) {
            if (key == done->load()) continue;
            EXPECT_EQ(has(key), key < done->load()) << when << ", " << key;
        }
    }

    void expect_nothing_lost(const std::string& when) {
        EXPECT_TRUE(own.table.destroy(table, id));
        own.table.reclaim();
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    // Inserts and erases every second key.
    void change() {
        for (std::uint32_t key = 0; key < keys; key += 2) {
            const std::string text = key_number(key);
            const std::string value = value_number(key);
            (void)own.table.insert(table, key_of(text), value_of(value));
            EXPECT_EQ(own.table.erase(table, key_of(text)), Effect::done) << key;
        }
    }

    BlockNumber table = 0;
};

class PutBatchTest : public testing::TestWithParam<Shape> {};

TEST_P(PutBatchTest, does_what_single_puts_do) {
    Scene scene(GetParam());
    {
        auto puts = scene.own.table.put_batch(scene.table);
        for (const bool is_second : {false, true}) {
            for (std::uint32_t i = 0; i < keys; ++i) {
                const std::string key = key_number(i);
                const std::string value = value_number(i);
                EXPECT_EQ(puts.put({key_of(key), value_of(value), PutMode::insert, {}, 0}).effect,
                          is_second ? Effect::present : Effect::done);
            }
        }
    }
    EXPECT_EQ(scene.own.table.entries(scene.table), keys);
    scene.expect_counted("after the puts");
    scene.expect_nothing_lost("after the puts");
}

TEST_P(PutBatchTest, makes_the_table_grow_as_single_puts_do) {
    constexpr std::uint32_t many = 300;
    Scene singly(GetParam());
    Scene at_once(GetParam());
    auto puts = at_once.own.table.put_batch(at_once.table);
    for (std::uint32_t i = 0; i < many; ++i) {
        const std::string key = key_number(i);
        EXPECT_EQ(singly.own.table.insert(singly.table, key_of(key), value_of(key)), Effect::done);
        EXPECT_EQ(puts.put({key_of(key), value_of(key), PutMode::insert, {}, 0}).effect,
                  Effect::done);
        EXPECT_EQ(at_once.own.table.buckets(at_once.table), singly.own.table.buckets(singly.table))
            << "after " << i;
    }
}

// No chain becomes long, so only the periodic check notices that the table must grow.
TEST(PutBatch, looks_whether_the_table_is_to_grow) {
    constexpr std::uint64_t slots = 12;
    constexpr std::uint64_t limit = slots * NextArray<SteppedAtomic>::entries_per_bucket;
    Scene scene({1, 1});
    const BlockNumber table = scene.own.table.make({.slots = slots});
    scene.own.table.keep();
    auto puts = scene.own.table.put_batch(table);
    for (std::uint32_t i = 0; i < limit + slots; ++i) {
        const std::string key = key_number(i);
        const EntryKey spread{key.data(), static_cast<std::uint32_t>(key.size()), i};
        EXPECT_EQ(puts.put({spread, value_of(key), PutMode::insert, {}, 0}).effect, Effect::done);
    }
    EXPECT_EQ(scene.own.table.buckets(table), 2 * slots);
}

TEST_P(PutBatchTest, that_finds_no_room_has_counted_what_it_inserted) {
    Scene scene(GetParam());
    {
        auto puts = scene.own.table.put_batch(scene.table);
        const auto put = [&](std::uint32_t number) {
            const std::string key = key_number(number);
            const std::string value = value_number(number);
            return puts.put({key_of(key), value_of(value), PutMode::insert, {}, 0}).effect;
        };
        for (const std::uint32_t number : {0U, 1U, 2U}) EXPECT_EQ(put(number), Effect::done);
        scene.own.blocks.set_allocations_left(0);
        EXPECT_EQ(put(3), Effect::no_room);
        EXPECT_EQ(scene.own.table.entries(scene.table), 3U);
        scene.own.blocks.set_allocations_left(-1);
    }
    scene.expect_counted("without room");
    scene.expect_nothing_lost("without room");
}

TEST_P(PutBatchTest, killed_before_any_access_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills before every access of puts");
    for (const bool is_survivor_busy : {false, true}) {
        const auto check = [&](Scene& scene, const StruckChild& child) {
            if (is_survivor_busy) scene.change();
            scene.recover_victim();
            if (!is_survivor_busy) scene.expect_steps_done(child.when());
            scene.expect_counted(child.when());
            scene.expect_nothing_lost(child.when());
        };
        test::strike_everywhere<Scene>({SIGKILL}, check, GetParam());
    }
}

TEST_P(PutBatchTest, killed_before_any_access_of_a_recovery_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills of recoveries from puts");
    const auto check = [](Scene& scene, const std::string& when) {
        scene.expect_steps_done(when);
        scene.expect_counted(when);
        scene.expect_nothing_lost(when);
    };
    test::kill_recoveries<Scene>({SIGKILL, 30, 53}, {SIGKILL, 1, 3}, check, GetParam());
}

TEST_P(PutBatchTest, stopped_before_any_access_delays_no_other) {
    const test::ScopedWatchdog watchdog("stops before every access of puts");
    const auto check = [](Scene& scene, StruckChild& child) {
        scene.change();
        child.go_on();
        scene.recover_victim();
        scene.expect_counted(child.when());
        scene.expect_nothing_lost(child.when());
    };
    test::strike_everywhere<Scene>({SIGSTOP}, check, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         PutBatchTest,
                         testing::Values(Shape{1, 1}, Shape{16, 1}, Shape{1, slots_that_tell}));

}  // namespace
}  // namespace acp::table
