// SPDX-License-Identifier: BSD-3-Clause
// A process is killed or stopped before each access to a table's words: other users make progress,
// on the same keys too; after recovery every entry is whole, completed calls have their effect, and
// no block leaks.
#include <csignal>
#include <map>
#include <optional>
#include <vector>

#include "kill_scene.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::table {
namespace {

enum class Kind : std::uint8_t { insert, assign, erase, add };

struct Step {
    Kind kind;
    std::uint32_t key;
    std::string value;
};

// The steps grow the table from one bucket to four, fill a chain, replace values by values of the
// same and of another length, add, and erase.
std::vector<Step> steps_of_victim() {
    std::vector<Step> steps;
    for (std::uint32_t i = 0; i < 14; ++i) steps.push_back({Kind::insert, i, "first value"});
    for (std::uint32_t i = 0; i < 14; i += 3)
        steps.push_back({Kind::assign, i, "another value, longer"});
    for (std::uint32_t i = 1; i < 14; i += 3) steps.push_back({Kind::erase, i, ""});
    steps.push_back({Kind::insert, 20, std::string(8, '\0')});
    steps.push_back({Kind::add, 20, ""});
    steps.push_back({Kind::assign, 20, std::string(8, '\1')});
    steps.push_back({Kind::insert, 0, "is there already"});
    for (std::uint32_t i = 30; i < 44; ++i) steps.push_back({Kind::insert, i, "last value"});
    for (std::uint32_t i = 30; i < 44; i += 2) steps.push_back({Kind::erase, i, ""});
    return steps;
}

using Model = std::map<std::uint32_t, std::string>;

void apply(Model& model, const Step& step) {
    switch (step.kind) {
        case Kind::insert:
            model.emplace(step.key, step.value);
            return;
        case Kind::assign:
            model[step.key] = step.value;
            return;
        case Kind::erase:
            model.erase(step.key);
            return;
        case Kind::add:
            ++model[step.key][0];
            return;
    }
}

void perform(Stepped& user, BlockNumber table, const Step& step) {
    const std::string text = key_number(step.key);
    const EntryKey key = key_of(text);
    std::uint64_t old = 0;
    switch (step.kind) {
        case Kind::insert:
            (void)user.table.insert(table, key, value_of(step.value));
            return;
        case Kind::assign:
            (void)user.table.assign(table, key, value_of(step.value));
            return;
        case Kind::erase:
            (void)user.table.erase(table, key);
            return;
        case Kind::add:
            (void)user.table.fetch_add(table, key, 1, old);
            return;
    }
}

struct Scene : TableScene<Scene> {
    explicit Scene(std::uint32_t batch_of_all) : TableScene(batch_of_all) {
        table = own.table.make({1, true});
        own.table.keep();
    }

    void act() {
        Stepped by = user(test::victim);
        for (const Step& step : steps_of_victim()) {
            perform(by, table, step);
            done->fetch_add(1);
        }
    }

    [[nodiscard]] std::optional<std::string> find(const std::string& key) {
        std::optional<std::string> found;
        (void)own.table.find(
            table, key_of(key),
            [&](const char* value, std::uint32_t bytes, const RecordName& /*record*/) {
                found = std::string(value, bytes);
            });
        return found;
    }

    // The state after the completed steps; the key of the next step may also have that step's
    // result.
    void expect_steps_done(const std::string& when) {
        const auto [model, next] = models<Model>(steps_of_victim(), apply);
        for (std::uint32_t key = 0; key < 50; ++key) {
            const auto at = [key](const Model& in) {
                const auto found = in.find(key);
                return found != in.end() ? std::optional(found->second) : std::nullopt;
            };
            const auto found = find(key_number(key));
            EXPECT_TRUE(found == at(model) || found == at(next))
                << when << ", after " << done->load() << " steps: key " << key << " is "
                << found.value_or("(absent)");
        }
    }

    // A tentative slot of a dead user would stay until the table grows, and name a block that is
    // reused.
    void expect_nothing_tentative(const std::string& when) {
        const auto& head = at<Head<SteppedAtomic>>(table);
        const Root root = Root::unpacked(head.root.load(std::memory_order_acquire));
        for (std::uint32_t level = root.from; level <= root.to; ++level) {
            auto& array = at<BucketArray<SteppedAtomic>>(
                link::next_in(head.arrays[level].load(std::memory_order_acquire)));
            for (std::uint64_t i = 0; i < array.buckets; ++i) {
                BlockNumber next = 0;
                for (auto* bucket = &array.bucket(i);; bucket = &at<Bucket<SteppedAtomic>>(next)) {
                    const std::uint64_t link = bucket->link.load(std::memory_order_acquire);
                    if ((link & link::moved) != 0) break;
                    for (const auto& slot : bucket->slots) {
                        const std::uint64_t word = slot.load(std::memory_order_acquire);
                        EXPECT_FALSE((word & slot::occupied) != 0 && (word & slot::tentative) != 0)
                            << when << ", bucket " << i << " of level " << level;
                    }
                    next = link::next_in(link);
                    if (next == 0) break;
                }
            }
        }
    }

    // No user changes the table now. After the first count its size is known without a walk.
    void expect_entries_counted(const std::string& when) {
        std::uint64_t there = 0;
        for (std::uint32_t key = 0; key < 50; ++key) {
            if (find(key_number(key))) ++there;
        }
        EXPECT_EQ(own.table.entries(table), there) << when;
        EXPECT_EQ(own.table.entries(table), there) << when << ", again";
        EXPECT_EQ(at<Head<SteppedAtomic>>(table).correction.load(std::memory_order_acquire) &
                      correction::unknown,
                  0U)
            << when;
    }

    void expect_nothing_lost(const std::string& when) {
        own.table.destroy(table, id);
        own.table.reclaim();
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    template <typename Part>
    [[nodiscard]] Part& at(BlockNumber block) {
        return *reinterpret_cast<Part*>(shared.blocks.data() + offset_of(block));
    }

    BlockNumber table = 0;
    // The table's identity.
    std::uint64_t id = 0;
};

// Makes all of the victim's changes, on its keys and on others.
void live_on(Scene& scene) {
    for (std::uint32_t key = 0; key < 50; ++key) {
        const std::string text = key_number(key);
        (void)scene.own.table.insert(scene.table, key_of(text), value_of("of the survivor"));
        EXPECT_TRUE(scene.find(text).has_value()) << text;
        EXPECT_EQ(scene.own.table.assign(scene.table, key_of(text), value_of("of the survivor")),
                  Effect::done);
        if (key % 2 == 0) {
            EXPECT_EQ(scene.own.table.erase(scene.table, key_of(text)), Effect::done);
        }
    }
}

void expect_survivors_entries(Scene& scene, const std::string& when) {
    for (std::uint32_t key = 0; key < 50; ++key) {
        EXPECT_EQ(scene.find(key_number(key)).has_value(), key % 2 != 0) << when << ", key " << key;
    }
}

class Kill : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Kill, before_any_access_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills before every access");
    for (const bool is_survivor_busy : {false, true}) {
        const auto check = [&](Scene& scene, const StruckChild& child) {
            if (is_survivor_busy) live_on(scene);
            scene.recover_victim();
            scene.expect_nothing_tentative(child.when());
            if (is_survivor_busy) {
                expect_survivors_entries(scene, child.when());
            } else {
                scene.expect_steps_done(child.when());
            }
            scene.expect_entries_counted(child.when());
            scene.expect_nothing_lost(child.when());
        };
        test::strike_everywhere<Scene>({SIGKILL}, check, GetParam());
    }
}

// Survivors give the table away before they detect the death: recovery must still find the table
// that the victim has changed.
TEST_P(Kill, is_noticed_after_the_table_was_given_away_and_loses_nothing) {
    const test::ScopedWatchdog watchdog("deaths that are noticed after a gift");
    const auto check = [](Scene& scene, const StruckChild& child) {
        const std::uint64_t next = identity::after(scene.id);
        EXPECT_TRUE(scene.own.table.give(scene.table, scene.id, next));
        scene.id = next;
        scene.recover_victim();
        scene.expect_nothing_tentative(child.when());
        scene.expect_steps_done(child.when());
        scene.expect_entries_counted(child.when());
        scene.expect_nothing_lost(child.when());
    };
    test::strike_everywhere<Scene>({SIGKILL}, check, GetParam());
}

TEST_P(Kill, before_any_access_of_a_recovery_loses_nothing) {
    const test::ScopedWatchdog watchdog("kills of recoveries");
    const auto check = [](Scene& scene, const std::string& when) {
        scene.expect_steps_done(when);
        scene.expect_entries_counted(when);
        scene.expect_nothing_lost(when);
    };
    test::kill_recoveries<Scene>({SIGKILL, 40, 97}, {SIGKILL, 1, 2}, check, GetParam());
}

TEST_P(Kill, a_user_stopped_before_any_access_delays_no_other) {
    const test::ScopedWatchdog watchdog("stops before every access");
    const auto check = [](Scene& scene, StruckChild& child) {
        live_on(scene);
        expect_survivors_entries(scene, child.when());
        child.go_on();
        scene.recover_victim();
        scene.expect_entries_counted(child.when());
        scene.expect_nothing_lost(child.when());
    };
    test::strike_everywhere<Scene>({SIGSTOP}, check, GetParam());
}

INSTANTIATE_TEST_SUITE_P(batch, Kill, testing::Values(1, 16));

}  // namespace
}  // namespace acp::table
