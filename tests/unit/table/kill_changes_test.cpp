// SPDX-License-Identifier: BSD-3-Clause
// A process is killed or stopped before each access to a table's words while it counts keys,
// replaces values if they are the expected ones, erases entries by their records, keeps many
// entries of a key, or gives a prepared block to the table: other users make progress, each call
// was done or was not, and no block leaks or is freed twice.
#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "kill_scene.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::table {
namespace {

enum class Kind : std::uint8_t {
    count_up,
    count_down,
    add_or_insert,
    insert,
    assign,
    replace,
    erase_record,
    add_one_of_many,
    erase_one_of_many,
};

struct Step {
    Kind kind;
    std::uint32_t key;
    std::uint64_t number = 0;
    std::string value = {};
    std::string expected = {};
    // The value is in a block that the victim has filled.
    bool is_prepared = false;
};

constexpr std::uint32_t keys = 14;

// An identity of a table: the bits in which two of them differ are other ones than those that
// giving a table away changes.
constexpr std::uint64_t id_of(std::uint64_t number) {
    return number << 32;
}

const std::vector<Step>& steps_of_victim() {
    static const std::vector<Step> steps = [] {
        std::vector<Step> all;
        // The eighth key lengthens the chain, and the table grows.
        for (std::uint32_t i = 0; i < 8; ++i) all.push_back({Kind::count_up, i, 2});
        all.push_back({Kind::count_up, 0, 3});
        all.push_back({Kind::count_down, 0, 1});
        // The count is 0: the entry is erased.
        all.push_back({Kind::count_down, 1, 2});
        all.push_back({Kind::count_down, 1, 1});
        all.push_back({Kind::count_up, 1, 7});
        all.push_back({Kind::add_or_insert, 2, 5});
        all.push_back({Kind::add_or_insert, 8, 5});
        all.push_back({Kind::insert, 9, 0, "text", "", true});
        all.push_back({Kind::insert, 9, 0, "is there already", "", true});
        all.push_back({Kind::replace, 9, 0, "a longer text", "text"});
        all.push_back({Kind::replace, 9, 0, "nothing", "text"});
        all.push_back({Kind::replace, 9, 0, "in a block", "a longer text", true});
        all.push_back({Kind::replace, 9, 0, "nothing", "text", true});
        all.push_back({Kind::replace, 3, 0, "12345678", std::string("\2\0\0\0\0\0\0\0", 8)});
        all.push_back({Kind::assign, 9, 0, "assigned", "", true});
        // Replaced in place: the block is freed.
        all.push_back({Kind::assign, 4, 0, "87654321", "", true});
        all.push_back({Kind::erase_record, 9});
        all.push_back({Kind::erase_record, 5});
        for (const char* const value : {"one", "two", "three"})
            all.push_back({Kind::add_one_of_many, 10, 0, value});
        all.push_back({Kind::add_one_of_many, 10, 0, "four", "", true});
        for (std::uint32_t i = 10; i < keys; ++i)
            all.push_back({Kind::add_one_of_many, i, 0, "of another"});
        all.push_back({Kind::erase_one_of_many, 10, 0, "two"});
        all.push_back({Kind::erase_one_of_many, 12, 0, "of another"});
        return all;
    }();
    return steps;
}

std::string bytes_of(std::uint64_t number) {
    return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::uint64_t number_in(const std::string& bytes) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

// The values of each key.
using Model = std::map<std::uint32_t, std::multiset<std::string>>;

void apply(Model& model, const Step& step) {
    std::multiset<std::string>& values = model[step.key];
    const auto set = [&values](const std::string& value) { values = {value}; };
    switch (step.kind) {
        case Kind::count_up:
        case Kind::add_or_insert:
            set(bytes_of((values.empty() ? 0 : number_in(*values.begin())) + step.number));
            return;
        case Kind::count_down: {
            if (values.empty()) return;
            const std::uint64_t count = number_in(*values.begin());
            if (count > step.number) return set(bytes_of(count - step.number));
            values.clear();
            return;
        }
        case Kind::insert:
            if (values.empty()) set(step.value);
            return;
        case Kind::assign:
            return set(step.value);
        case Kind::replace:
            if (values.count(step.expected) != 0) set(step.value);
            return;
        case Kind::erase_record:
            values.clear();
            return;
        case Kind::add_one_of_many:
            values.insert(step.value);
            return;
        case Kind::erase_one_of_many:
            values.erase(step.value);
            return;
    }
}

struct Scene : TableScene<Scene> {
    explicit Scene(std::uint32_t batch_of_all) : TableScene(batch_of_all) {
        table = own.table.make({.slots = 1, .may_grow = true, .has_many = false, .id = id_of(1)});
        own.table.keep();
        many = own.table.make({.slots = 1, .may_grow = true, .has_many = true, .id = id_of(2)});
        own.table.keep();
    }

    // A block with key and value, in the layout of a record. It belongs to the caller: `held` names
    // it until the call that takes it returns.
    [[nodiscard]] BlockNumber prepare(Stepped& user,
                                      const std::string& key,
                                      const std::string& value) {
        const auto key_bytes = static_cast<std::uint32_t>(key.size());
        const auto value_bytes = static_cast<std::uint32_t>(value.size());
        const heap::Offset block = shared.heap.allocate(
            user.blocks.cache(), EntryRecord<SteppedAtomic>::bytes(key_bytes, value_bytes), 16);
        held->store(number_of(block));
        shared.heap.keep(user.blocks.cache());
        auto& record = user.table.record(number_of(block));
        record.key_bytes = key_bytes;
        record.value_bytes = value_bytes;
        std::memcpy(record.key(), key.data(), key.size());
        std::memcpy(record.value(), value.data(), value.size());
        return number_of(block);
    }

    Effect put(Stepped& user, BlockNumber into, const Step& step, PutMode mode) {
        const std::string key = key_number(step.key);
        if (!step.is_prepared) {
            return user.table
                .put(into, {key_of(key), value_of(step.value), mode, value_of(step.expected), 0})
                .effect;
        }
        const BlockNumber block = prepare(user, key, step.value);
        auto& record = user.table.record(block);
        const Effect effect = user.table
                                  .put(into, {{record.key(), record.key_bytes, key_of(key).hash},
                                              {record.value(), record.value_bytes},
                                              mode,
                                              value_of(step.expected),
                                              block})
                                  .effect;
        held->store(0);
        return effect;
    }

    // Erases the entry of a key that has this value; "": with any value.
    Effect erase_record(Stepped& user,
                        BlockNumber from,
                        std::uint32_t key,
                        const std::string& value) {
        const std::string text = key_number(key);
        RecordName record;
        WalkPlace after;
        (void)user.table.walk_key(from, key_of(text), after, [&](const VisitedEntry& entry) {
            const bool is_it =
                value.empty() || value == std::string(entry.value, entry.value_bytes);
            if (is_it) record = entry.record;
            return is_it ? Visited::stop_here : Visited::go_on;
        });
        return record.block == 0
                   ? Effect::absent
                   : user.table.erase_record(from, key_of(text).hash & hash_mask, record);
    }

    void perform(Stepped& user, const Step& step) {
        const std::string text = key_number(step.key);
        std::uint64_t old = 0;
        switch (step.kind) {
            case Kind::count_up:
                (void)user.table.add(table, key_of(text), step.number);
                return;
            case Kind::count_down:
                (void)user.table.subtract(table, key_of(text), step.number);
                return;
            case Kind::add_or_insert:
                (void)user.table.fetch_add_or_insert(table, key_of(text), step.number, old);
                return;
            case Kind::insert:
                (void)put(user, table, step, PutMode::insert);
                return;
            case Kind::assign:
                (void)put(user, table, step, PutMode::assign);
                return;
            case Kind::replace:
                (void)put(user, table, step, PutMode::replace);
                return;
            case Kind::erase_record:
                (void)erase_record(user, table, step.key, "");
                return;
            case Kind::add_one_of_many:
                (void)put(user, many, step, PutMode::add);
                return;
            case Kind::erase_one_of_many:
                (void)erase_record(user, many, step.key, step.value);
                return;
        }
    }

    void act() {
        Stepped by = user(test::victim);
        for (const Step& step : steps_of_victim()) {
            perform(by, step);
            done->fetch_add(1);
        }
    }

    // The values of a key, without ended counts.
    [[nodiscard]] std::multiset<std::string> values_of(std::uint32_t key) {
        std::multiset<std::string> values;
        const std::string text = key_number(key);
        WalkPlace after;
        (void)own.table.walk_key(key < 10 ? table : many, key_of(text), after,
                                 [&](const VisitedEntry& entry) {
                                     std::string value(entry.value, entry.value_bytes);
                                     if (value != bytes_of(ended_count)) values.insert(value);
                                     return Visited::go_on;
                                 });
        return values;
    }

    // The state after the completed steps; the key of the next step may also have that step's
    // result.
    void expect_steps_done(const std::string& when) {
        auto [model, next] = models<Model>(steps_of_victim(), apply);
        for (std::uint32_t key = 0; key < keys; ++key) {
            const auto values = values_of(key);
            EXPECT_TRUE(values == model[key] || values == next[key])
                << when << ", after " << done->load() << " steps: key " << key << " has "
                << testing::PrintToString(values);
        }
    }

    // No user changes the tables now. After the first count their sizes are known without a walk,
    // and no entry has an ended count.
    void expect_entries_counted(const std::string& when) {
        for (const BlockNumber one : {table, many}) {
            std::uint64_t there = 0;
            WalkPlace after;
            const auto visit = [&](const VisitedEntry& entry) {
                EXPECT_FALSE(is_ended_count(entry.value, entry.value_bytes)) << when;
                ++there;
                return Visited::go_on;
            };
            while (own.table.walk(one, after, visit) == Walked::more) {
            }
            EXPECT_EQ(own.table.entries(one), there) << when;
            EXPECT_EQ(own.table.entries(one), there) << when << ", again";
            const auto& head =
                *reinterpret_cast<Head<SteppedAtomic>*>(shared.blocks.data() + offset_of(one));
            EXPECT_EQ(head.correction.load(std::memory_order_acquire) & correction::unknown, 0U)
                << when;
        }
    }

    // Notes whether the victim has already given the block that it holds to a table.
    void look_at_victim() {
        is_block_given = held->load() != 0 && is_shown(test::victim, offset_of(held->load()));
    }

    //   is_left  whether the victim still owned the block that it held
    void expect_nothing_lost(const std::string& when, bool is_left) {
        EXPECT_TRUE(own.table.destroy(table, id_of(1)));
        EXPECT_TRUE(own.table.destroy(many, id_of(2)));
        own.table.reclaim();
        // Fails if the block was freed before.
        if (is_left) own.blocks.free(held->load());
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    SharedPages holding{sizeof(std::uint64_t)};
    std::atomic<std::uint64_t>* held =
        reinterpret_cast<std::atomic<std::uint64_t>*>(holding.data());
    bool is_block_given = false;
    BlockNumber table = 0;
    BlockNumber many = 0;
};

// The owner of a block that the victim held when it was killed: between the access that gives the
// block to the table and the end of the step, the table.
class Given {
public:
    // Whether the victim still owns the block. Kills come in the order of accesses.
    bool is_left(Scene& scene) {
        scene.look_at_victim();
        if (scene.is_block_given) given_in_ = scene.done->load();
        return scene.held->load() != 0 && given_in_ != scene.done->load();
    }

private:
    // The step in which it was given.
    std::optional<std::uint64_t> given_in_;
};

// Makes every change, on all keys.
void live_on(Scene& scene) {
    Stepped& own = scene.own;
    for (std::uint32_t key = 0; key < keys; ++key) {
        const std::string text = key_number(key);
        if (key >= 10) {
            EXPECT_EQ(
                scene.put(own, scene.many, {Kind::add_one_of_many, key, 0, "mine"}, PutMode::add),
                Effect::done);
            EXPECT_EQ(scene.erase_record(own, scene.many, key, "mine"), Effect::done);
            continue;
        }
        while (own.table.subtract(scene.table, key_of(text), ended_count - 1).effect ==
               Effect::done) {
        }
        while (own.table.erase(scene.table, key_of(text)) == Effect::done) {
        }
        EXPECT_EQ(own.table.add(scene.table, key_of(text), 3).count, 3U) << text;
        EXPECT_EQ(own.table.subtract(scene.table, key_of(text), 3).effect, Effect::done);
        EXPECT_EQ(own.table.subtract(scene.table, key_of(text), 1).effect, Effect::absent);
        EXPECT_EQ(scene.put(own, scene.table, {Kind::insert, key, 0, "mine"}, PutMode::insert),
                  Effect::done);
        EXPECT_EQ(scene.put(own, scene.table, {Kind::replace, key, 0, "mine again", "mine"},
                            PutMode::replace),
                  Effect::done);
        if (key % 2 == 0) {
            EXPECT_EQ(scene.erase_record(own, scene.table, key, "mine again"), Effect::done);
        }
    }
}

void expect_survivors_entries(Scene& scene, const std::string& when) {
    for (std::uint32_t key = 0; key < 10; ++key) {
        const auto values = scene.values_of(key);
        EXPECT_TRUE(key % 2 == 0 ? values.empty()
                                 : values == std::multiset<std::string>{"mine again"})
            << when << ", key " << key << " has " << testing::PrintToString(values);
    }
}

class KillOfChanges : public testing::TestWithParam<std::uint32_t> {};

TEST_P(KillOfChanges, before_any_access_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills before every access of a change");
    for (const bool is_survivor_busy : {false, true}) {
        Given given;
        const auto check = [&](Scene& scene, const StruckChild& child) {
            const bool is_left = given.is_left(scene);
            if (is_survivor_busy) live_on(scene);
            scene.recover_victim();
            if (is_survivor_busy) {
                expect_survivors_entries(scene, child.when());
            } else {
                scene.expect_steps_done(child.when());
            }
            scene.expect_entries_counted(child.when());
            scene.expect_nothing_lost(child.when(), is_left);
        };
        test::strike_everywhere<Scene>({SIGKILL}, check, GetParam());
    }
}

TEST_P(KillOfChanges, before_any_access_of_a_recovery_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills of recoveries from changes");
    const auto check = [](Scene& scene, const std::string& when) {
        scene.expect_steps_done(when);
        scene.expect_entries_counted(when);
        // Only the test above knows whether a block that no participant names was given away
        // before.
        if (scene.held->load() == 0 || scene.is_block_given) scene.expect_nothing_lost(when, false);
    };
    test::kill_recoveries<Scene>({SIGKILL, 30, 53}, {SIGKILL, 1, 3}, check, GetParam());
}

TEST_P(KillOfChanges, a_user_stopped_before_any_access_delays_no_other) {
    const test::ScopedWatchdog watchdog("stops before every access of a change");
    const auto check = [](Scene& scene, StruckChild& child) {
        live_on(scene);
        expect_survivors_entries(scene, child.when());
        child.go_on();
        scene.recover_victim();
        scene.expect_entries_counted(child.when());
        scene.expect_nothing_lost(child.when(), false);
    };
    test::strike_everywhere<Scene>({SIGSTOP}, check, GetParam());
}

// Survivors destroy the tables before they detect the death, and make another table in the same
// memory.
TEST_P(KillOfChanges, is_noticed_after_the_table_was_destroyed_and_harms_no_other) {
    const test::ScopedWatchdog watchdog("deaths that are noticed late");
    constexpr std::uint32_t others = 30;
    const auto check = [&](Scene& scene, const StruckChild& child) {
        const std::string when = child.when();
        HashTable<SteppedAtomic>& own = scene.own.table;
        EXPECT_TRUE(own.destroy(scene.table, id_of(1)));
        EXPECT_TRUE(own.destroy(scene.many, id_of(2)));
        const BlockNumber other =
            own.make({.slots = 1, .may_grow = true, .has_many = false, .id = id_of(3)});
        own.keep();
        for (std::uint32_t key = 0; key < others; ++key) {
            EXPECT_EQ(own.insert(other, key_of(key_number(key)), value_of("of another table")),
                      Effect::done);
        }
        scene.recover_victim();
        own.reclaim();
        for (std::uint32_t key = 0; key < others; ++key) {
            EXPECT_EQ(own.erase(other, key_of(key_number(key))), Effect::done)
                << when << ", key " << key;
        }
        EXPECT_TRUE(own.destroy(other, id_of(3)));
        own.reclaim();
        // A block that the victim has made and not linked cannot be distinguished from blocks that
        // were freed with its table.
        constexpr std::uint64_t left_most = 2;
        EXPECT_LE(scene.shared.blocks_in_use(), left_most + (scene.held->load() != 0 ? 1 : 0))
            << when;
    };
    test::strike_everywhere<Scene>({SIGKILL}, check, GetParam());
}

INSTANTIATE_TEST_SUITE_P(batch, KillOfChanges, testing::Values(1, 16));

}  // namespace
}  // namespace acp::table
