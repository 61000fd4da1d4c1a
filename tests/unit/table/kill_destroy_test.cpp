// SPDX-License-Identifier: BSD-3-Clause
// A process is killed or stopped before each access while it makes or destroys a table: after
// recovery a table whose destruction had begun is gone, with every entry, bucket and array; a table
// that was not yet published is gone too.
#include <csignal>
#include <cstring>
#include <unistd.h>

#include "kill_scene.hpp"
#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::table {
namespace {

// The strides between the accesses at which the victim and the recovery are struck.
constexpr std::uint64_t victim_stride = test::effort(std::uint64_t{11}, std::uint64_t{59});
constexpr std::uint64_t recovery_stride = test::effort(std::uint64_t{1}, std::uint64_t{3});

// The content of a table: nothing, one bucket, a chain that cannot grow, a table in migration, and
// a grown one.
struct Filling {
    std::uint32_t keys;
    bool may_grow;
    bool is_in_pieces = false;  // the table is destroyed in pieces
};

void PrintTo(const Filling& filling, std::ostream* out) {
    *out << filling.keys << (filling.may_grow ? " keys" : " keys in one chain")
         << (filling.is_in_pieces ? ", in pieces" : "");
}

constexpr std::uint64_t id = 77;

struct DestroyScene : TableScene<DestroyScene> {
    explicit DestroyScene(const Filling& filling)
        : TableScene(1), is_in_pieces(filling.is_in_pieces) {
        table = own.table.make({1, filling.may_grow, false, id});
        own.table.keep();
        for (std::uint32_t key = 0; key < filling.keys; ++key) {
            const std::string text = key_number(key);
            EXPECT_EQ(own.table.insert(table, key_of(text), value_of("a value")), Effect::done);
        }
    }

    void act() const {
        Stepped by = user(test::victim);
        if (!is_in_pieces) {
            (void)by.table.destroy(table, id);
        } else if (by.table.begin_to_destroy(table, id)) {
            while (by.table.destroy_more(by.table.destroyed_least)) {
            }
        }
    }

    void expect_nothing_lost(const std::string& when) {
        if (own.table.is_table(table, id)) {
            EXPECT_TRUE(own.table.destroy(table, id)) << when;
        }
        EXPECT_FALSE(own.table.destroy(table, id)) << when;
        own.table.reclaim();
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    bool is_in_pieces;
    BlockNumber table = 0;
};

class KilledDestroyer : public testing::TestWithParam<Filling> {};

TEST_P(KilledDestroyer, before_any_access_leaves_nothing_of_the_table) {
    const test::ScopedWatchdog watchdog("kills of destroyers");
    const auto check = [](DestroyScene& scene, const StruckChild& child) {
        scene.recover_victim();
        scene.expect_nothing_lost(child.when());
    };
    test::strike_everywhere<DestroyScene>({SIGKILL}, check, GetParam());
}

TEST_P(KilledDestroyer, before_any_access_of_its_recovery_leaves_nothing_of_the_table) {
    const test::ScopedWatchdog watchdog("kills of recoveries");
    const auto check = [](DestroyScene& scene, const std::string& when) {
        scene.expect_nothing_lost(when);
    };
    test::kill_recoveries<DestroyScene>({SIGKILL, 1, victim_stride}, {SIGKILL, 1, recovery_stride},
                                        check, GetParam());
}

TEST_P(KilledDestroyer, stopped_before_any_access_it_delays_no_other) {
    const test::ScopedWatchdog watchdog("stops of destroyers");
    const auto check = [](DestroyScene& scene, StruckChild& child) {
        const bool is_there = scene.own.table.is_table(scene.table, id);
        EXPECT_EQ(scene.own.table.destroy(scene.table, id), is_there) << child.when();
        child.go_on();
        scene.recover_victim();
        scene.expect_nothing_lost(child.when());
    };
    test::strike_everywhere<DestroyScene>({SIGSTOP}, check, GetParam());
}

INSTANTIATE_TEST_SUITE_P(tables,
                         KilledDestroyer,
                         testing::Values(Filling{0, true},
                                         Filling{6, true},
                                         Filling{17, false},
                                         Filling{8, true},
                                         Filling{14, true},
                                         Filling{31, true},
                                         Filling{0, true, true},
                                         Filling{17, false, true},
                                         Filling{14, true, true},
                                         Filling{31, true, true}));

// The victim makes the table.
struct MakeScene : TableScene<MakeScene> {
    MakeScene() : TableScene(1) {}

    void act() const {
        Stepped by = user(test::victim);
        const BlockNumber table = by.table.make({2, true, false, id});
        made->store(table);
        by.table.keep();
    }

    heap::SharedPages making{sizeof(std::uint64_t)};
    std::atomic<std::uint64_t>* made = reinterpret_cast<std::atomic<std::uint64_t>*>(making.data());
};

TEST(KilledMaker, before_any_access_leaks_no_table) {
    const test::ScopedWatchdog watchdog("kills of makers");
    const auto check = [](MakeScene& scene, const StruckChild& child) {
        scene.recover_victim();
        if (!child.is_hit()) {
            EXPECT_TRUE(scene.own.table.destroy(scene.made->load(), id));
        }
        EXPECT_EQ(scene.shared.blocks_in_use(), 0U) << child.when();
    };
    test::strike_everywhere<MakeScene>({SIGKILL}, check);
}

// The victim links a block to a directory.
struct LinkScene : TableScene<LinkScene> {
    LinkScene() : TableScene(1) {
        directory = own.table.make_directory(sizeof(DirectoryStart<SteppedAtomic>) + bytes,
                                             no_process, [](BlockNumber, char*) {});
        own.table.keep();
    }

    void act() const {
        Stepped by = user(test::victim);
        if (link_by(by) == 0) _exit(5);
    }

    [[nodiscard]] BlockNumber link_by(Stepped& by) const {
        return by.table.linked_block(
            directory, &DirectoryStart<SteppedAtomic>::lock, bytes,
            [](BlockNumber, char* memory) { std::memset(memory, 7, bytes); });
    }

    static constexpr std::uint64_t bytes = 200;
    BlockNumber directory = 0;
};

TEST(KilledLinker, before_any_access_leaks_no_block_and_links_a_whole_one) {
    const test::ScopedWatchdog watchdog("kills of linkers");
    const auto check = [](LinkScene& scene, const StruckChild& child) {
        scene.recover_victim();
        EXPECT_LE(scene.shared.blocks_in_use(), 2U) << child.when();
        const BlockNumber linked = scene.link_by(scene.own);
        EXPECT_EQ(scene.own.table.memory_of(linked)[LinkScene::bytes - 1], 7) << child.when();
        EXPECT_EQ(scene.shared.blocks_in_use(), 2U) << child.when();
        EXPECT_TRUE(scene.own.table.destroy_directory(scene.directory)) << child.when();
        EXPECT_EQ(scene.shared.blocks_in_use(), 0U) << child.when();
    };
    test::strike_everywhere<LinkScene>({SIGKILL}, check);
}

}  // namespace
}  // namespace acp::table
