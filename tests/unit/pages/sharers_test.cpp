// SPDX-License-Identifier: BSD-3-Clause
// A home takes the mark of every node that fetched a page, once, and none is lost between nodes that
// mark and the home that takes, nor when the home of a page moves.
#include "pages/sharers.hpp"

#include <array>
#include <gtest/gtest.h>
#include <set>
#include <utility>
#include <vector>

#include "support/interleave.hpp"

namespace acp::pages {
namespace {

namespace sched = test::sched;

using Marks = std::set<std::pair<PageNumber, NodeNumber>>;

template <template <class> class Atomic>
struct SharersOf {
    SharersOf(std::uint64_t pages, NodeNumber nodes)
        : memory(Sharers<Atomic>::bytes(pages, nodes) / sizeof(std::uint64_t)),
          sharers(memory.data(), pages, nodes) {}

    // The next barrier's take.
    Marks take() {
        ++epoch;
        return take_again();
    }

    Marks take_again() {
        Marks marks;
        sharers.take(epoch, [&](PageNumber page, NodeNumber node) {
            EXPECT_TRUE(marks.emplace(page, node).second) << "taken twice";
        });
        return marks;
    }

    std::vector<Atomic<std::uint64_t>> memory;
    Sharers<Atomic> sharers;
    std::uint64_t epoch = 0;
};

class SharersOfNodes : public testing::TestWithParam<NodeNumber> {};

INSTANTIATE_TEST_SUITE_P(Nodes, SharersOfNodes, testing::Values(1U, 64U, 65U, 1000U));

TEST_P(SharersOfNodes, are_taken_once_each) {
    const NodeNumber nodes = GetParam();
    SharersOf<std::atomic> home(130, nodes);
    const Marks marks = {{0, 0}, {63, nodes - 1}, {64, 0}, {129, nodes / 2}, {129, nodes - 1}};
    for (const auto& [page, node] : marks) {
        home.sharers.mark(page, node);
        home.sharers.mark(page, node);
        EXPECT_TRUE(home.sharers.has(page, node));
    }
    EXPECT_EQ(home.take(), marks);
    EXPECT_EQ(home.take(), Marks{});
    home.sharers.mark(129, 0);
    EXPECT_EQ(home.take(), (Marks{{129, 0}})) << "those of the last time are cleared";
}

TEST(Sharers, of_a_lost_page_are_cleared_and_those_of_others_stay) {
    SharersOf<std::atomic> home(3, 100);
    for (PageNumber page = 0; page < 3; ++page) {
        home.sharers.mark(page, 0);
        home.sharers.mark(page, 99);
    }
    home.sharers.clear(1);
    EXPECT_EQ(home.take(), (Marks{{0, 0}, {0, 99}, {2, 0}, {2, 99}}));
}

TEST(Sharers, are_not_lost_between_nodes_that_mark_and_a_home_that_takes) {
    sched::for_each_seed(3000, [](std::uint64_t seed) {
        SharersOf<sched::Atomic> home(2, 3);
        Marks taken;
        const auto mark = [&](NodeNumber node) {
            return [&home, node] {
                for (PageNumber page = 0; page < 2; ++page) home.sharers.mark(page, node);
            };
        };
        const auto take = [&] {
            for (int i = 0; i < 3; ++i) taken.merge(home.take());
        };
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {mark(0), mark(1), mark(2), take}).failure, "");
        taken.merge(home.take());
        EXPECT_EQ(taken, (Marks{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}));
    });
}

// A fetching node is in the epoch of the barrier that the home may take marks for.
TEST(Sharers, that_mark_too_late_for_a_take_know_it) {
    std::uint32_t late = 0;
    std::uint32_t seeds = 0;  // fewer under a sanitizer
    sched::for_each_seed(4000, [&](std::uint64_t seed) {
        ++seeds;
        SharersOf<sched::Atomic> home(2, 3);
        Marks taken;
        std::array<bool, 3> is_late{};
        const auto mark = [&](NodeNumber node) {
            return [&, node] { is_late[node] = home.sharers.mark(node % 2, node) >= 1; };
        };
        const auto take = [&] { taken = home.take(); };
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {mark(0), mark(1), mark(2), take}).failure, "");
        for (NodeNumber node = 0; node < 3; ++node) {
            EXPECT_TRUE(is_late[node] || taken.contains({node % 2, node})) << node;
            late += is_late[node] ? 1U : 0U;
        }
    });
    EXPECT_GT(late, seeds / 4);
}

using Pages = std::vector<PageNumber>;

Pages due_of(const Sharers<>& sharers) {
    Pages due;
    sharers.for_each_due([&](PageNumber page) { due.push_back(page); });
    return due;
}

TEST(Sharers, of_a_page_that_its_home_did_not_track_make_it_due_until_its_notice_is_exchanged) {
    SharersOf<std::atomic> home(70, 2);
    home.sharers.mark(69, 1);
    EXPECT_EQ(due_of(home.sharers), Pages{}) << "not before the home takes the mark";
    EXPECT_FALSE(home.sharers.is_tracked(69));
    (void)home.take();
    EXPECT_EQ(due_of(home.sharers), Pages{69});
    EXPECT_TRUE(home.sharers.is_tracked(69));
    home.sharers.end_due();
    EXPECT_EQ(due_of(home.sharers), Pages{});
}

TEST(Sharers, of_a_tracked_page_do_not_make_it_due_again_until_its_home_has_lost_it) {
    SharersOf<std::atomic> home(70, 2);
    home.sharers.mark(69, 1);
    (void)home.take();
    home.sharers.end_due();
    home.sharers.mark(69, 0);
    EXPECT_EQ(home.take(), (Marks{{69, 0}}));
    EXPECT_EQ(due_of(home.sharers), Pages{});
    home.sharers.clear(69);
    EXPECT_FALSE(home.sharers.is_tracked(69));
}

TEST(Sharers, are_taken_by_the_process_that_repeats_the_take_of_a_killed_one) {
    sched::for_each_death(0, 60, [](const sched::Options& options) {
        SharersOf<sched::Atomic> home(2, 66);
        home.sharers.mark(0, 65);
        home.sharers.mark(1, 2);
        Marks taken;
        const auto note = [&](PageNumber page, NodeNumber node) { taken.emplace(page, node); };
        const auto victim = [&] { home.sharers.take(1, note); };
        const sched::Outcome outcome = sched::run(options, {victim});
        EXPECT_EQ(outcome.failure, "");
        home.sharers.take(1, note);
        EXPECT_EQ(taken, (Marks{{0, 65}, {1, 2}}));
        EXPECT_TRUE(home.sharers.is_tracked(0) && home.sharers.is_tracked(1));
        EXPECT_FALSE(home.sharers.has(0, 65) || home.sharers.has(1, 2));
        return outcome.is_victim_hit;
    });
}

// The barrier that moves a page lets each node leave when it likes: a fast one has fetched from the
// new home before the old one has cleared its words, and before the new one has left.
TEST(Sharers, that_mark_a_new_home_before_it_has_left_the_barrier_are_found) {
    sched::for_each_seed(1000, [](std::uint64_t seed) {
        SharersOf<sched::Atomic> homes[2] = {{1, 4}, {1, 4}};
        homes[0].sharers.mark(0, 3);
        Marks taken;
        const auto old_home = [&] { homes[0].sharers.clear(0); };
        const auto new_home = [&] { taken = homes[1].take(); };
        const auto fetcher = [&] { homes[1].sharers.mark(0, 2); };
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {old_home, new_home, fetcher}).failure, "");
        taken.merge(homes[1].take());
        EXPECT_EQ(taken, (Marks{{0, 2}}));
        EXPECT_EQ(homes[0].take(), Marks{}) << "of its next time as home";
    });
}

// The fetch of a process that dies between its two stores has ended; its mark shows with the next.
TEST(Sharers, of_a_process_that_is_killed_while_it_marks_hide_no_other_mark) {
    sched::for_each_death(0, 40, [](const sched::Options& options) {
        SharersOf<sched::Atomic> home(1, 3);
        Marks taken;
        const auto victim = [&] { home.sharers.mark(0, 1); };
        const auto other = [&] { home.sharers.mark(0, 2); };
        const auto take = [&] { taken.merge(home.take()); };
        const sched::Outcome outcome = sched::run(options, {victim, other, take});
        EXPECT_EQ(outcome.failure, "");
        taken.merge(home.take());
        EXPECT_TRUE(taken.contains({0, 2}));
        if (options.is_victim_resumed || !outcome.is_victim_hit) {
            EXPECT_TRUE(taken.contains({0, 1}));
        }
        return outcome.is_victim_hit;
    });
}

}  // namespace
}  // namespace acp::pages
