// SPDX-License-Identifier: BSD-3-Clause
// The exchange of directories in a model of their memory. If a process is killed before any of its
// accesses, both directories are as before or both exchanged, also if the next reader is killed
// too. Any number of processes may exchange and settle at once, or late, and lose no content.
#include "data/directory_exchange.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <string>

#include "support/interleave.hpp"
#include "support/random.hpp"

namespace acp::data::test {
namespace {

namespace sched = acp::test::sched;
using base::Code;
using base::Result;
using base::Status;

constexpr std::size_t directories = 3;

GlobalAddress directory_at(std::size_t index) {
    return 0x1000 * (index + 1);
}

// The memory of three containers, each with one table more than the one before.
struct World {
    World() {
        for (std::size_t i = 0; i < directories; ++i) {
            DirectoryHead& head = heads[directory_at(i)];
            head.id = 0xabcd'0000'00ff'fffe + (std::uint64_t{i} << 48);
            head.state = exchange_state::first(head.id);
            DirectoryBody& body = head.bodies[0];
            body.id = head.id;
            body.tables = static_cast<std::uint32_t>(i + 1);
            body.seed = i;
            for (std::size_t which = 0; which < 2; ++which)
                head.bodies[which].list = directory_at(i) + 0x100 * (which + 1);
            for (std::uint64_t t = 0; t < body.tables; ++t) {
                lists[body.list].push_back(directory_at(i) + 0x800 + t);
                identities[lists[body.list].back()] = body.id;
            }
        }
    }

    std::map<GlobalAddress, DirectoryHead> heads;
    std::map<GlobalAddress, std::vector<GlobalAddress>> lists;
    std::map<GlobalAddress, std::uint64_t> identities;  // the container's identity in each table
};

struct Killed {};

// The accesses of one process to the world.
class Reach {
public:
    //   accesses  number of accesses before the process is killed
    explicit Reach(World& world, std::uint64_t accesses = ~std::uint64_t{0})
        : world_(world), left_(accesses) {}

    Status read(GlobalAddress directory, DirectoryHead& head) {
        access();
        const auto found = world_.heads.find(directory);
        if (found == world_.heads.end()) return Status::bare(Code::stale);
        head = found->second;
        return {};
    }

    Status read_list(const DirectoryBody& body, std::vector<GlobalAddress>& tables) {
        access();
        tables = world_.lists[body.list];
        return {};
    }

    Status give(const std::vector<GlobalAddress>& tables, std::uint64_t from, std::uint64_t to) {
        for (const GlobalAddress table : tables) {
            access();
            std::uint64_t& identity = world_.identities[table];
            if (identity == from) identity = to;
        }
        return {};
    }

    Result<bool> change_state(GlobalAddress directory, std::uint64_t from, std::uint64_t to) {
        access();
        std::uint64_t& state = world_.heads[directory].state;
        if (state != from) return false;
        state = to;
        return true;
    }

    // Does the same as data::HashedWalk.
    void prepare(GlobalAddress at, GlobalAddress other, const DirectoryHead& of_other) {
        DirectoryHead own;
        (void)read(at, own);
        const std::size_t which = 1 - exchange_state::body_in(own.state);
        DirectoryBody body = of_other.bodies[exchange_state::body_in(of_other.state)];
        std::vector<GlobalAddress> tables;
        (void)read_list(body, tables);
        body.id = table::identity::after(body.id);
        body.list = own.bodies[which].list;
        access();
        world_.lists[body.list] = tables;
        access();
        world_.heads[at].bodies[which] = body;
        access();
        world_.heads[at].partner = other;
        world_.heads[at].partner_state = of_other.state;
    }

private:
    void access() {
        if (left_ == 0) throw Killed();
        --left_;
        sched::before_operation();
    }

    World& world_;
    std::uint64_t left_;
};

// Reads a directory until it is settled, as data::Directories does.
DirectoryHead settled(Reach& reach, GlobalAddress directory) {
    constexpr int rounds_most = 100;
    DirectoryHead head;
    for (int round = 0; round < rounds_most; ++round) {
        EXPECT_TRUE(reach.read(directory, head).is_ok());
        if (exchange_state::is_settled(head.state)) return head;
        EXPECT_TRUE(DirectoryExchange(reach).settle(directory, head).is_ok());
    }
    ADD_FAILURE() << "nothing settles the directory";
    return head;
}

// false: another exchange came first. Only one process at a time prepares a directory.
bool has_exchanged(Reach& reach, GlobalAddress one, GlobalAddress other) {
    const DirectoryHead first = settled(reach, one);
    const DirectoryHead second = settled(reach, other);
    reach.prepare(one, other, second);
    reach.prepare(other, one, first);
    auto done = DirectoryExchange(reach).run({one, first.state}, {other, second.state});
    return done.is_ok() && done.value();
}

// The seeds of the contents of the directories, in their order. Checks that they are a permutation,
// and that each table names its container.
std::array<std::uint64_t, directories> contents(World& world) {
    std::array<std::uint64_t, directories> seeds{};
    Reach reach(world);
    for (std::size_t i = 0; i < directories; ++i) {
        const DirectoryHead head = settled(reach, directory_at(i));
        const DirectoryBody& body = head.bodies[exchange_state::body_in(head.state)];
        seeds[i] = body.seed;
        EXPECT_EQ(body.tables, body.seed + 1);
        EXPECT_EQ(world.lists[body.list].size(), body.tables);
        for (const GlobalAddress table : world.lists[body.list]) {
            EXPECT_EQ(table & ~GlobalAddress{0xfff}, directory_at(body.seed));
            EXPECT_EQ(world.identities[table], body.id) << "directory " << i;
        }
    }
    auto sorted = seeds;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < directories; ++i) EXPECT_EQ(sorted[i], i);
    return seeds;
}

// Whether the process is killed.
bool is_killed_in(const std::function<void()>& act) {
    try {
        act();
    } catch (const Killed&) {
        return true;
    }
    return false;
}

using Contents = std::array<std::uint64_t, directories>;

TEST(DirectoryExchangeTest, each_gets_what_the_other_has_and_its_tables_another_identity) {
    World world;
    const std::map<GlobalAddress, std::uint64_t> before = world.identities;
    Reach reach(world);
    EXPECT_TRUE(has_exchanged(reach, directory_at(0), directory_at(1)));
    EXPECT_EQ(contents(world), (Contents{1, 0, 2}));
    for (const auto& [table, identity] : before) {
        EXPECT_EQ(world.identities[table] == identity, table >= directory_at(2)) << table;
    }
    EXPECT_TRUE(has_exchanged(reach, directory_at(1), directory_at(2)));
    EXPECT_EQ(contents(world), (Contents{1, 2, 0}));
    EXPECT_TRUE(has_exchanged(reach, directory_at(0), directory_at(1)));
    EXPECT_EQ(contents(world), (Contents{2, 1, 0}));
}

// The next process reads the first directory or the second one first, or exchanges one of them with
// a third one.
TEST(DirectoryExchangeTest, a_kill_before_any_access_leaves_both_as_they_were_or_both_exchanged) {
    std::uint64_t exchanged = 0;
    std::uint64_t as_before = 0;
    for (std::size_t next = 0; next < 4; ++next) {
        bool is_killed = true;
        for (std::uint64_t at = 0; is_killed; ++at) {
            World world;
            is_killed = is_killed_in([&] {
                Reach victim(world, at);
                EXPECT_TRUE(has_exchanged(victim, directory_at(0), directory_at(1)));
            });
            Reach survivor(world);
            Contents expected{0, 1, 2};
            (void)settled(survivor, directory_at(next % 2 == 0 ? 1 : 0));
            const DirectoryHead head = settled(survivor, directory_at(next % 2));
            const DirectoryBody& body = head.bodies[exchange_state::body_in(head.state)];
            if (body.seed != next % 2) {
                std::swap(expected[0], expected[1]);
                ++exchanged;
            } else {
                ++as_before;
            }
            if (next >= 2) {
                EXPECT_TRUE(has_exchanged(survivor, directory_at(2), directory_at(next - 2)));
                std::swap(expected[2], expected[next - 2]);
            }
            EXPECT_EQ(contents(world), expected) << "killed before access " << at;
        }
    }
    EXPECT_GT(exchanged, 0U);
    EXPECT_GT(as_before, 0U);
}

// One of the directories is exchanged with a third one before any process has read them.
TEST(DirectoryExchangeTest, a_directory_that_continues_before_the_decision_undoes_the_swap) {
    bool is_killed = true;
    for (std::uint64_t at = 0; is_killed; ++at) {
        for (std::size_t which = 0; which < 2; ++which) {
            World world;
            is_killed = is_killed_in([&] {
                Reach victim(world, at);
                EXPECT_TRUE(has_exchanged(victim, directory_at(0), directory_at(1)));
            });
            Reach survivor(world);
            EXPECT_TRUE(has_exchanged(survivor, directory_at(which), directory_at(2)));
            Contents as_before{0, 1, 2};
            Contents exchanged{1, 0, 2};
            std::swap(as_before[which], as_before[2]);
            std::swap(exchanged[which], exchanged[2]);
            const Contents now = contents(world);
            EXPECT_TRUE(now == as_before || now == exchanged) << "killed before access " << at;
        }
    }
}

TEST(DirectoryExchangeTest,
     a_directory_that_is_destroyed_before_it_is_decided_takes_the_exchange_back) {
    bool is_killed = true;
    for (std::uint64_t at = 0; is_killed; ++at) {
        World world;
        is_killed = is_killed_in([&] {
            Reach victim(world, at);
            EXPECT_TRUE(has_exchanged(victim, directory_at(0), directory_at(1)));
        });
        Reach survivor(world);
        const DirectoryHead first = settled(survivor, directory_at(0));
        world.heads.erase(directory_at(0));
        const DirectoryHead second = settled(survivor, directory_at(1));
        EXPECT_NE(first.bodies[exchange_state::body_in(first.state)].seed,
                  second.bodies[exchange_state::body_in(second.state)].seed)
            << "killed before access " << at;
    }
}

TEST(DirectoryExchangeTest, a_kill_before_any_access_of_a_settling_process_loses_nothing) {
    bool is_killed = true;
    for (std::uint64_t at = 0; is_killed; ++at) {
        bool is_helper_killed = true;
        for (std::uint64_t helped = 0; is_helper_killed; ++helped) {
            World world;
            is_killed = is_killed_in([&] {
                Reach victim(world, at);
                EXPECT_TRUE(has_exchanged(victim, directory_at(0), directory_at(1)));
            });
            is_helper_killed = is_killed_in([&] {
                Reach helper(world, helped);
                (void)settled(helper, directory_at(helped % 2));
                (void)settled(helper, directory_at(1 - helped % 2));
            });
            const Contents now = contents(world);
            EXPECT_TRUE(now == (Contents{0, 1, 2}) || now == (Contents{1, 0, 2}))
                << "killed before accesses " << at << " and " << helped;
        }
    }
}

// One fiber exchanges, and others settle again and again.
sched::Outcome exchange_beside_others(const sched::Options& options) {
    World world;
    const auto exchange = [&world] {
        Reach reach(world);
        (void)has_exchanged(reach, directory_at(0), directory_at(1));
    };
    const auto settle = [&world] {
        Reach reach(world);
        for (int i = 0; i < 4; ++i)
            (void)settled(reach, directory_at(static_cast<std::size_t>(i) % 2));
    };
    sched::Outcome outcome = sched::run(options, {exchange, settle, settle});
    EXPECT_EQ(outcome.failure, "");
    const Contents now = contents(world);
    EXPECT_TRUE(now == (Contents{0, 1, 2}) || now == (Contents{1, 0, 2}))
        << "seed " << options.seed << ", " << options.victim_operation;
    Reach reach(world);
    EXPECT_TRUE(has_exchanged(reach, directory_at(1), directory_at(0)));
    EXPECT_EQ(contents(world)[0], now[1]);
    return outcome;
}

TEST(DirectoryExchangeTest, any_number_settle_at_once_and_lose_nothing) {
    sched::for_each_seed(5'000,
                         [](std::uint64_t seed) { (void)exchange_beside_others({.seed = seed}); });
}

// The exchanging fiber is killed, or stopped while the others run.
TEST(DirectoryExchangeTest, any_number_settle_late_and_lose_nothing) {
    sched::for_each_death(0, 20, [](const sched::Options& options) {
        return exchange_beside_others(options).is_victim_hit;
    });
}

// One fiber is stopped while it settles; the others complete that exchange and exchange again and
// again.
TEST(DirectoryExchangeTest, a_late_helper_changes_nothing_of_later_swaps) {
    for (std::uint64_t at = 0; at < 40; ++at) {
        sched::for_each_death(0, 1, [at](const sched::Options& options) {
            World world;
            (void)is_killed_in([&] {
                Reach victim(world, at);
                (void)has_exchanged(victim, directory_at(0), directory_at(1));
            });
            const auto settle = [&world] {
                Reach reach(world);
                (void)settled(reach, directory_at(0));
                (void)settled(reach, directory_at(1));
            };
            const auto exchange = [&world] {
                Reach reach(world);
                int done = 0;
                for (int tries = 0; tries < 100 && done < 2; ++tries)
                    done += has_exchanged(reach, directory_at(0), directory_at(1)) ? 1 : 0;
                for (int tries = 0; tries < 100 && done < 3; ++tries)
                    done += has_exchanged(reach, directory_at(1), directory_at(2)) ? 1 : 0;
                EXPECT_EQ(done, 3);
            };
            const sched::Outcome outcome = sched::run(options, {settle, exchange});
            EXPECT_EQ(outcome.failure, "");
            const Contents now = contents(world);
            EXPECT_TRUE(now == (Contents{0, 2, 1}) || now == (Contents{1, 2, 0}))
                << "killed before access " << at << ", seed " << options.seed;
            return outcome.is_victim_hit;
        });
    }
}

}  // namespace
}  // namespace acp::data::test
