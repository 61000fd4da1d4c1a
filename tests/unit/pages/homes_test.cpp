// SPDX-License-Identifier: BSD-3-Clause
// Each policy gives every page its home; one node wins the first touch; and tables that see the same
// notices move the same pages, to a node that alone wrote a page twice running.
#include "pages/homes.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "support/interleave.hpp"
#include "support/random.hpp"

namespace acp::pages {
namespace {

namespace sched = test::sched;

template <template <class> class Atomic = std::atomic>
struct TableOf {
    TableOf(std::uint64_t pages, NodeNumber nodes)
        : memory(pages), table(memory.data(), pages, nodes) {}

    [[nodiscard]] std::vector<NodeNumber> homes() const {
        std::vector<NodeNumber> all;
        for (PageNumber page = 0; page < table.pages(); ++page) all.push_back(table.home(page));
        return all;
    }

    std::vector<Atomic<std::uint64_t>> memory;
    HomeTable<Atomic> table;
};

using Homes = std::vector<NodeNumber>;

Homes homes_of(std::uint64_t pages, NodeNumber nodes, const HomeRule& rule) {
    const TableOf<> node(pages, nodes);
    node.table.assign(0, pages, rule);
    return node.homes();
}

TEST(HomePolicy, block_gives_each_node_a_run_of_nearly_equal_length) {
    EXPECT_EQ(homes_of(8, 2, {}), (Homes{0, 0, 0, 0, 1, 1, 1, 1}));
    EXPECT_EQ(homes_of(5, 4, {}), (Homes{0, 0, 1, 2, 3}));
    EXPECT_EQ(homes_of(2, 4, {}), (Homes{0, 2}));
}

TEST(HomePolicy, cyclic_gives_each_node_a_run_in_turn) {
    EXPECT_EQ(homes_of(5, 3, {HomePolicy::cyclic}), (Homes{0, 1, 2, 0, 1}));
    EXPECT_EQ(homes_of(7, 2, {HomePolicy::cyclic, false, 3}), (Homes{0, 0, 0, 1, 1, 1, 0}));
}

TEST(HomePolicy, fixed_gives_all_pages_to_one_node) {
    EXPECT_EQ(homes_of(3, 4, {HomePolicy::fixed, false, 1, 2}), (Homes{2, 2, 2}));
}

TEST(HomePolicy, concerns_the_pages_of_its_allocation) {
    const TableOf<> node(6, 2);
    node.table.assign(2, 2, {});
    EXPECT_EQ(node.homes(), (Homes{no_node, no_node, 0, 1, no_node, no_node}));
}

TEST(HomeWordTest, keeps_each_field_apart) {
    const HomeWord word{nodes_max - 1, nodes_max - 2, true, true, HomeWord::epochs - 1};
    const HomeWord again = HomeWord::unpacked(word.packed());
    EXPECT_EQ(again.home, nodes_max - 1);
    EXPECT_EQ(again.last_writer, nodes_max - 2);
    EXPECT_TRUE(again.is_migrating && again.has_moved);
    EXPECT_EQ(again.epoch, HomeWord::epochs - 1);
    EXPECT_EQ(HomeWord{}.packed(), 0U) << "a fresh page has no home";
    const HomeWord awaiting{3, several_nodes, true, false, 5};
    EXPECT_TRUE(HomeWord::unpacked(awaiting.packed()).awaits_first_writer());
    EXPECT_FALSE(again.awaits_first_writer());
}

TEST(FirstTouch, is_won_by_one_node_however_many_claim) {
    sched::for_each_seed(2000, [](std::uint64_t seed) {
        const TableOf<sched::Atomic> arbiter(1, 3);
        arbiter.table.assign(0, 1, {HomePolicy::first_touch});
        std::vector<NodeNumber> answers(3, no_node);
        std::vector<std::function<void()>> nodes;
        for (NodeNumber node = 0; node < 3; ++node) {
            nodes.emplace_back([&, node] { answers[node] = arbiter.table.claim(0, node); });
        }
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, nodes).failure, "");
        EXPECT_LT(answers[0], 3U);
        EXPECT_EQ(answers, std::vector<NodeNumber>(3, arbiter.table.home(0)));
    });
}

TEST(FirstTouch, of_a_killed_node_stays_decided) {
    sched::for_each_death(0, 20, [](const sched::Options& options) {
        const TableOf<sched::Atomic> arbiter(1, 2);
        arbiter.table.assign(0, 1, {HomePolicy::first_touch});
        NodeNumber answer = no_node;
        const auto victim = [&] { (void)arbiter.table.claim(0, 0); };
        const auto other = [&] { answer = arbiter.table.claim(0, 1); };
        const sched::Outcome outcome = sched::run(options, {victim, other});
        EXPECT_EQ(outcome.failure, "");
        EXPECT_EQ(answer, arbiter.table.home(0));
        return outcome.is_victim_hit;
    });
}

TEST(FirstTouch, is_decided_at_a_node_that_exists) {
    for (PageNumber page = 0; page < 20; ++page) EXPECT_LT(arbiter_of(page, 7), 7U);
}

struct Migration : testing::Test {
    TableOf<> node{1, 4};
    std::uint64_t epoch = 0;

    Migration() { node.table.assign(0, 1, {HomePolicy::block, true}); }

    [[nodiscard]] bool wrote(NodeNumber writer) {
        return node.table.decide(0, writer, ++epoch, true);
    }

    [[nodiscard]] NodeNumber home() const { return node.table.home(0); }
};

TEST_F(Migration, follows_a_node_that_alone_wrote_twice_running) {
    EXPECT_FALSE(wrote(2));
    EXPECT_EQ(home(), 0U);
    EXPECT_TRUE(wrote(2));
    EXPECT_EQ(home(), 2U);
    EXPECT_FALSE(wrote(2)) << "it is the home";
    EXPECT_FALSE(wrote(0));
    EXPECT_TRUE(wrote(0));
    EXPECT_EQ(home(), 0U);
}

TEST_F(Migration, waits_for_two_epochs_running_of_the_same_writer_alone) {
    for (const NodeNumber between : {NodeNumber{1}, NodeNumber{0}, several_nodes}) {
        EXPECT_FALSE(wrote(2));
        EXPECT_FALSE(wrote(between));
    }
    EXPECT_FALSE(wrote(2));
    EXPECT_EQ(home(), 0U);
    epoch += 10;
    EXPECT_TRUE(wrote(2)) << "epochs without a write count not";
}

TEST_F(Migration, is_decided_once_in_an_epoch_however_often_it_is_repeated) {
    EXPECT_FALSE(node.table.decide(0, 2, 1, true));
    EXPECT_FALSE(node.table.decide(0, 2, 1, true)) << "a process repeats what a killed one began";
    EXPECT_TRUE(node.table.decide(0, 2, 2, true));
    EXPECT_TRUE(node.table.decide(0, 2, 2, true));
    EXPECT_EQ(home(), 2U);
    EXPECT_FALSE(node.table.decide(0, 2, 3, true));
}

TEST_F(Migration, is_off_where_the_rule_does_not_say_so) {
    node.table.assign(0, 1, {});
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(wrote(2));
    EXPECT_EQ(home(), 0U);
}

TEST_F(Migration, begins_anew_after_an_explicit_move) {
    EXPECT_FALSE(wrote(2));
    node.table.set_home(0, 3);
    EXPECT_EQ(home(), 3U);
    EXPECT_FALSE(wrote(2));
    EXPECT_TRUE(wrote(2)) << "the page migrates as before";
}

struct FirstWriter : testing::Test {
    TableOf<> node{4, 2};

    FirstWriter() { node.table.assign(0, 4, {HomePolicy::first_writer}); }

    // Pages 2 and 3 are at node 1 at first.
    [[nodiscard]] bool wrote(PageNumber page, NodeNumber writer, std::uint64_t epoch) {
        return node.table.decide(page, writer, epoch, true);
    }
};

TEST_F(FirstWriter, becomes_the_home_at_once_and_for_good) {
    EXPECT_EQ(node.homes(), (Homes{0, 0, 1, 1})) << "until then";
    EXPECT_TRUE(wrote(0, 1, 1));
    EXPECT_TRUE(wrote(0, 1, 1)) << "a process repeats what a killed one began";
    for (std::uint64_t epoch = 2; epoch < 6; ++epoch) EXPECT_FALSE(wrote(0, 0, epoch));
    EXPECT_EQ(node.table.home(0), 1U);
}

TEST_F(FirstWriter, is_the_home_itself_or_one_of_several_and_the_page_stays) {
    EXPECT_FALSE(wrote(0, 0, 1));
    EXPECT_FALSE(wrote(1, several_nodes, 1));
    for (const PageNumber page : {PageNumber{0}, PageNumber{1}}) {
        for (std::uint64_t epoch = 2; epoch < 6; ++epoch) EXPECT_FALSE(wrote(page, 1, epoch));
        EXPECT_EQ(node.table.home(page), 0U);
    }
}

TEST_F(FirstWriter, is_awaited_while_the_page_may_not_move) {
    EXPECT_FALSE(node.table.decide(2, 0, 1, false));
    EXPECT_EQ(node.table.home(2), 1U);
    EXPECT_TRUE(wrote(2, 0, 2));
    EXPECT_EQ(node.table.home(2), 0U);
}

TEST_F(FirstWriter, counts_no_more_after_an_explicit_move) {
    node.table.set_home(3, 0);
    for (std::uint64_t epoch = 1; epoch < 4; ++epoch) EXPECT_FALSE(wrote(3, 1, epoch));
    EXPECT_EQ(node.table.home(3), 0U);
}

// All pages at node 0, as a program that forgot to place them has them; each node writes its part.
TEST(WrongHomes, are_right_after_the_second_barrier) {
    constexpr NodeNumber nodes = 4;
    const TableOf<> node(64, nodes);
    node.table.assign(0, 64, {HomePolicy::fixed, true, 1, 0});
    std::uint64_t moves = 0;
    for (std::uint64_t epoch = 1; epoch <= 2; ++epoch) {
        for (PageNumber page = 0; page < 64; ++page) {
            const auto writer = static_cast<NodeNumber>(page / 16);
            if (node.table.decide(page, writer, epoch, true)) ++moves;
        }
    }
    EXPECT_EQ(moves, 48U);
    EXPECT_EQ(node.homes(), homes_of(64, nodes, {}));
}

constexpr std::uint64_t written_pages = 20;

// The writers of each page in an epoch, as the merged notices name them.
std::vector<NodeNumber> random_writers(test::Random& random) {
    std::vector<NodeNumber> writers;
    for (PageNumber page = 0; page < written_pages; ++page) {
        const std::uint64_t writer = random.below(5);
        writers.push_back(writer < 3 ? static_cast<NodeNumber>(writer) : several_nodes);
    }
    return writers;
}

// Decides all pages, after a process that was killed when it had decided some.
std::vector<bool> decide_all(const HomeTable<>& table,
                             const std::vector<NodeNumber>& writers,
                             std::uint64_t epoch,
                             std::uint64_t killed_at) {
    for (PageNumber page = 0; page < killed_at; ++page) {
        (void)table.decide(page, writers[page], epoch, true);
    }
    std::vector<bool> moved;
    for (PageNumber page = 0; page < written_pages; ++page) {
        moved.push_back(table.decide(page, writers[page], epoch, true));
    }
    return moved;
}

TEST(WrongHomes, are_moved_alike_on_all_nodes_whatever_is_repeated) {
    test::Random random(11);
    const TableOf<> one(written_pages, 3);
    const TableOf<> other(written_pages, 3);
    for (const TableOf<>* node : {&one, &other}) {
        node->table.assign(0, written_pages, {HomePolicy::cyclic, true});
    }
    std::ptrdiff_t moves = 0;
    for (std::uint64_t epoch = 1; epoch < 300; ++epoch) {
        const std::vector<NodeNumber> writers = random_writers(random);
        const std::vector<bool> moved =
            decide_all(one.table, writers, epoch, random.below(written_pages));
        EXPECT_EQ(decide_all(other.table, writers, epoch, random.below(written_pages)), moved);
        ASSERT_EQ(one.homes(), other.homes());
        moves += std::count(moved.begin(), moved.end(), true);
    }
    EXPECT_GT(moves, 100);
}

}  // namespace
}  // namespace acp::pages
