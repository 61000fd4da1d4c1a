// SPDX-License-Identifier: BSD-3-Clause
// The fate of each page at each of three nodes, from the same notices: copies that may be stale go,
// a sole writer's and a pushed one stay, homes move alike everywhere, and a process that repeats the
// decision of a killed one ends with the same words. One thread.
#include "pages/barrier_decision.hpp"

#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "support/interleave.hpp"

namespace acp::pages {
namespace {

namespace sched = test::sched;

constexpr std::uint64_t pages = 8;
constexpr NodeNumber nodes = 3;

using Fates = std::vector<FateRun>;

template <template <class> class Atomic>
struct DecidingNode {
    explicit DecidingNode(NodeNumber number, const HomeRule& rule) : node(number) {
        homes.assign(0, pages, rule);
        for (PageNumber page = 0; page < pages; ++page) {
            if (homes.home(page) == node) {
                words.become_home(page);
            } else {
                cache(page);
            }
        }
    }

    void cache(PageNumber page) {
        const auto none_is_dead = [](SlotNumber) { return false; };
        if (words.access(page, 0, none_is_dead) == PageAccess::fetch) {
            (void)words.end_fetch(page, 0, true);
        }
    }

    Fates settle(const std::vector<MergedRun>& merged, std::uint64_t epoch) {
        BarrierDecision<Atomic> decision(node, words, homes, sharers);
        const auto fates = decision.settle(merged, epoch);
        return {fates.begin(), fates.end()};
    }

    [[nodiscard]] PageState state(PageNumber page) const { return words.read(page).state; }

    NodeNumber node;
    std::array<Atomic<std::uint64_t>, pages> word_memory{};
    std::array<Atomic<std::uint64_t>, pages> home_memory{};
    std::vector<Atomic<std::uint64_t>> sharer_memory =
        std::vector<Atomic<std::uint64_t>>(Sharers<Atomic>::bytes(pages, nodes) / 8);
    PageWords<Atomic> words{word_memory.data(), pages};
    HomeTable<Atomic> homes{home_memory.data(), pages, nodes};
    Sharers<Atomic> sharers{sharer_memory.data(), pages, nodes};
};

// All pages have their home on node 0.
struct DecisionScene : testing::Test {
    static constexpr HomeRule rule{HomePolicy::fixed, true, 1, 0};

    std::array<Fates, nodes> settle(const std::vector<MergedRun>& merged) {
        ++epoch;
        std::array<Fates, nodes> fates;
        for (auto& node : all) fates[node.node] = node.settle(merged, epoch);
        return fates;
    }

    void expect_home_of_page_3(NodeNumber home) {
        for (const auto& node : all) EXPECT_EQ(node.homes.home(3), home);
    }

    std::array<DecidingNode<std::atomic>, nodes> all{DecidingNode<std::atomic>{0, rule},
                                                     DecidingNode<std::atomic>{1, rule},
                                                     DecidingNode<std::atomic>{2, rule}};
    std::uint64_t epoch = 0;
};

using BarrierDecisionTest = DecisionScene;

TEST_F(BarrierDecisionTest, drops_all_copies_but_the_sole_writers) {
    const auto fates = settle({{2, 3, notice_written, 1}});
    EXPECT_EQ(fates[0], Fates{});
    EXPECT_EQ(fates[1], Fates{});
    EXPECT_EQ(fates[2], (Fates{{2, 3, PageFate::dropped}}));
    EXPECT_EQ(all[1].state(2), PageState::valid);
    EXPECT_EQ(all[2].state(4), PageState::absent);
    EXPECT_EQ(all[2].state(5), PageState::valid);
    EXPECT_EQ(all[0].state(2), PageState::home);
}

TEST_F(BarrierDecisionTest, drops_the_copies_of_several_writers) {
    const auto fates = settle({{1, 1, notice_written, several_nodes}});
    EXPECT_EQ(fates[0], Fates{});
    EXPECT_EQ(fates[1], (Fates{{1, 1, PageFate::dropped}}));
    EXPECT_EQ(fates[2], (Fates{{1, 1, PageFate::dropped}}));
}

TEST_F(BarrierDecisionTest, drops_even_a_sole_writers_copy_of_a_page_that_its_home_did_not_track) {
    const auto fates =
        settle({{1, 1, notice_written | notice_shared, 1}, {6, 1, notice_shared, no_node}});
    EXPECT_EQ(fates[0], (Fates{{1, 1, PageFate::tracked}, {6, 1, PageFate::tracked}}));
    EXPECT_EQ(fates[1], (Fates{{1, 1, PageFate::dropped}, {6, 1, PageFate::dropped}}));
    EXPECT_EQ(all[1].state(1), PageState::absent);
}

TEST_F(BarrierDecisionTest, moves_a_page_to_its_sole_writer_in_two_epochs) {
    (void)settle({{3, 1, notice_written, 1}});
    all[2].cache(3);
    const auto fates = settle({{3, 1, notice_written, 1}});
    EXPECT_EQ(fates[0], (Fates{{3, 1, PageFate::lost}}));
    EXPECT_EQ(fates[1], (Fates{{3, 1, PageFate::gained}}));
    EXPECT_EQ(fates[2], (Fates{{3, 1, PageFate::dropped}}));
    expect_home_of_page_3(1);
    EXPECT_EQ(all[0].state(3), PageState::absent);
    EXPECT_EQ(all[1].state(3), PageState::home);
}

TEST_F(BarrierDecisionTest, clears_the_marks_of_a_lost_page) {
    all[0].sharers.mark(3, 1);
    all[0].sharers.mark(3, 2);
    all[1].sharers.mark(3, 2);
    (void)settle({{3, 1, notice_written, 1}});
    (void)settle({{3, 1, notice_written, 1}});
    EXPECT_FALSE(all[0].sharers.has(3, 1) || all[0].sharers.has(3, 2));
    EXPECT_TRUE(all[1].sharers.has(3, 2)) << "a fast node has fetched it from the new home";
}

TEST_F(BarrierDecisionTest, moves_no_page_whose_home_may_have_written_it_unnoticed) {
    (void)settle({{3, 1, notice_written, 1}});
    (void)settle({{3, 1, notice_written | notice_shared, 1}});
    expect_home_of_page_3(0);
    all[1].cache(3);
    (void)settle({{3, 1, notice_written, 1}});
    expect_home_of_page_3(1);  // it was a candidate
}

TEST_F(BarrierDecisionTest, ends_the_pages_that_were_due) {
    all[0].sharers.mark(5, 1);
    all[0].sharers.take(1, [](PageNumber, NodeNumber) {});
    (void)settle({{5, 1, notice_shared, no_node}});
    bool is_any_due = false;
    all[0].sharers.for_each_due([&](PageNumber) { is_any_due = true; });
    EXPECT_FALSE(is_any_due);
    EXPECT_TRUE(all[0].sharers.is_tracked(5));
}

struct RepeatedDecision {
    explicit RepeatedDecision(NodeNumber number) : node(number, DecisionScene::rule) {
        (void)node.settle({{0, 4, notice_written, 1}}, 1);
    }

    void decide() {
        (void)node.settle({{0, 2, notice_written, 1},
                           {2, 1, notice_written | notice_shared, 1},
                           {5, 2, notice_written, several_nodes}},
                          2);
    }

    void expect_like(const RepeatedDecision& other) const {
        for (PageNumber page = 0; page < pages; ++page) {
            EXPECT_EQ(node.words.read(page).packed(), other.node.words.read(page).packed());
            EXPECT_EQ(node.homes.home(page), other.node.homes.home(page));
        }
    }

    DecidingNode<sched::Atomic> node;
};

class DecisionOfNode : public testing::TestWithParam<NodeNumber> {};

INSTANTIATE_TEST_SUITE_P(Nodes, DecisionOfNode, testing::Values(0U, 1U, 2U));

TEST_P(DecisionOfNode, is_repeated_after_a_death_with_the_same_result) {
    RepeatedDecision expected(GetParam());
    expected.decide();
    sched::for_each_death(0, 80, [&](const sched::Options& options) {
        RepeatedDecision scene(GetParam());
        scene.node.sharers.mark(0, 2);
        const sched::Outcome outcome = sched::run(options, {[&] { scene.decide(); }});
        EXPECT_EQ(outcome.failure, "");
        scene.decide();
        scene.expect_like(expected);
        EXPECT_EQ(scene.node.sharers.has(0, 2), GetParam() != 0) << "the old home clears its marks";
        return outcome.is_victim_hit;
    });
}

}  // namespace
}  // namespace acp::pages
