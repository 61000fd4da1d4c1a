// SPDX-License-Identifier: BSD-3-Clause
// The sets of written and flushed pages, the claims of groups, and the fates of runs, in memory of
// several ranks: no written page is lost and none is flushed by two ranks at once, also if a rank is
// killed or stopped before any of its operations.
#include "dsm/node_state.hpp"

#include <array>
#include <gtest/gtest.h>
#include <vector>

#include "support/interleave.hpp"

namespace acp::dsm {
namespace {

namespace sched = acp::test::sched;

using pages::PageFate;
using pages::PageNumber;
using pages::SlotNumber;

constexpr auto none_is_dead = [](SlotNumber) { return false; };

template <template <class> class Atomic>
struct StateOf {
    explicit StateOf(std::uint64_t pages)
        : memory(NodeState<Atomic>::bytes(pages) / sizeof(std::uint64_t)),
          state(memory.data(), pages) {}

    std::vector<Atomic<std::uint64_t>> memory;
    NodeState<Atomic> state;
};

TEST(NodeState, has_each_written_page_until_it_is_flushed) {
    StateOf<std::atomic> node(200);
    node.state.add_written({62, 130});
    EXPECT_EQ(node.state.to_flush(0), std::uint64_t{3} << 62);
    EXPECT_EQ(node.state.to_flush(1), ~std::uint64_t{0});
    EXPECT_EQ(node.state.to_flush(2), ~std::uint64_t{0});
    EXPECT_EQ(node.state.to_flush(3), 0U);
    node.state.begin_flush(63);
    EXPECT_EQ(node.state.to_flush(0), std::uint64_t{3} << 62) << "it is being sent";
    node.state.end_flush(63);
    EXPECT_EQ(node.state.to_flush(0), std::uint64_t{1} << 62);
}

TEST(NodeState, has_a_page_that_was_written_again_while_it_was_flushed) {
    StateOf<std::atomic> node(1);
    node.state.add_written({0, 1});
    node.state.begin_flush(0);
    node.state.add_written({0, 1});
    node.state.end_flush(0);
    EXPECT_EQ(node.state.to_flush(0), 1U);
}

TEST(NodeState, calls_a_page_unsent_until_its_flush_has_ended) {
    StateOf<std::atomic> node(70);
    EXPECT_FALSE(node.state.has_unsent(66));
    node.state.add_written({66, 1});
    EXPECT_TRUE(node.state.has_unsent(66));
    EXPECT_FALSE(node.state.has_unsent(65));
    node.state.begin_flush(66);
    EXPECT_TRUE(node.state.has_unsent(66));
    node.state.end_flush(66);
    EXPECT_FALSE(node.state.has_unsent(66));
}

TEST(NodeState, forgets_all_of_pages_that_are_freed) {
    StateOf<std::atomic> node(200);
    node.state.add_written({60, 10});
    node.state.begin_flush(61);
    node.state.add_flushed(62);
    node.state.add_flushed(69);
    node.state.forget({60, 9});
    EXPECT_EQ(node.state.to_flush(0), 0U);
    EXPECT_EQ(node.state.to_flush(1), 1U << 5) << "page 69";
    node.state.for_each_flushed([](auto page) { EXPECT_EQ(page, 69U); });
}

TEST(NodeState, reports_a_failure_of_a_rank_once) {
    StateOf<std::atomic> node(1);
    EXPECT_EQ(node.state.take_failure(), base::Code::ok);
    node.state.note_failure(base::Code::peer);
    EXPECT_EQ(node.state.take_failure(), base::Code::peer);
    EXPECT_EQ(node.state.take_failure(), base::Code::ok);
}

TEST(NodeState, gives_a_claim_to_one_rank_until_that_releases_it_or_dies) {
    StateOf<std::atomic> node(65);
    using enum GroupClaim;
    EXPECT_EQ(node.state.claim(1, 0, none_is_dead), claimed);
    EXPECT_EQ(node.state.claim(1, 1, none_is_dead), refused);
    EXPECT_EQ(node.state.claim(1, 0, none_is_dead), refused) << "by another thread";
    EXPECT_EQ(node.state.claim_word(1).load(), 1U);
    EXPECT_EQ(node.state.claim(0, 1, none_is_dead), claimed);
    EXPECT_EQ(node.state.claim(1, 1, [](SlotNumber slot) { return slot == 0; }), inherited);
    node.state.release_claim(1);
    EXPECT_EQ(node.state.claim_word(1).load(), 0U);
    EXPECT_EQ(node.state.claim(1, 0, none_is_dead), claimed);
}

TEST(NodeState, has_notices_of_flushed_pages_for_one_epoch) {
    StateOf<std::atomic> node(100);
    EXPECT_EQ(node.state.next_epoch(), 1U);
    for (const PageNumber page : {99U, 3U, 64U}) node.state.add_flushed(page);
    std::vector<PageNumber> flushed;
    const auto add = [&](PageNumber page) { flushed.push_back(page); };
    node.state.for_each_flushed(add);
    EXPECT_EQ(flushed, (std::vector<PageNumber>{3, 64, 99}));
    node.state.clear_flushed();
    node.state.end_epoch(1);
    node.state.for_each_flushed(add);
    EXPECT_EQ(flushed.size(), 3U);
    EXPECT_EQ(node.state.next_epoch(), 2U);
}

TEST(NodeState, has_the_fates_of_runs_of_any_length) {
    StateOf<std::atomic> node(1);
    constexpr std::uint64_t cut = std::uint64_t{1} << 20;
    const std::vector<pages::FateRun> runs = {{0, 1, PageFate::lost},
                                              {5, cut + 7, PageFate::dropped},
                                              {pages::notice_pages_max - 1, 1, PageFate::tracked}};
    node.state.set_fates(runs);
    std::vector<pages::FateRun> seen;
    const auto add = [&](const pages::FateRun& run) { seen.push_back(run); };
    EXPECT_TRUE(node.state.for_each_fate(add));
    EXPECT_EQ(seen,
              (std::vector<pages::FateRun>{
                  runs[0], {5, cut, PageFate::dropped}, {5 + cut, 7, PageFate::dropped}, runs[2]}));
}

TEST(NodeState, says_that_there_are_more_fates_than_it_has_room_for) {
    StateOf<std::atomic> node(1);
    std::vector<pages::FateRun> runs(NodeState<>::fates_max, {1, 1, PageFate::dropped});
    std::uint64_t seen = 0;
    const auto count = [&](const pages::FateRun&) { ++seen; };
    node.state.set_fates(runs);
    EXPECT_TRUE(node.state.for_each_fate(count));
    EXPECT_EQ(seen, NodeState<>::fates_max);
    runs.push_back({2, 1, PageFate::dropped});
    node.state.set_fates(runs);
    EXPECT_FALSE(node.state.for_each_fate(count));
    node.state.set_fates({});
    EXPECT_TRUE(node.state.for_each_fate(count));
    EXPECT_EQ(seen, NodeState<>::fates_max);
}

// Two ranks that write a counter in place of a page and flush it into the home's counter.
struct FlushScene {
    StateOf<sched::Atomic> node{1};
    sched::Atomic<std::uint64_t> page{0};
    sched::Atomic<std::uint64_t> home{0};
    sched::Atomic<std::uint64_t> owner{0};
    sched::Atomic<std::uint32_t> dead{0};  // slot + 1

    void flush(SlotNumber slot) {
        const auto& state = node.state;
        if (state.to_flush(0) == 0) return;
        const auto is_dead = [this](SlotNumber other) {
            return dead.load(std::memory_order_acquire) == other + 1;
        };
        if (state.claim(0, slot, is_dead) == GroupClaim::refused) return;
        EXPECT_TRUE(owner.peek() == 0 || owner.peek() == dead.peek()) << "two ranks flush it";
        owner.store(slot + 1, std::memory_order_relaxed);
        if (state.to_flush(0) != 0) {
            state.begin_flush(0);
            home.store(page.load(std::memory_order_relaxed), std::memory_order_relaxed);
            state.end_flush(0);
        }
        owner.store(0, std::memory_order_relaxed);
        state.release_claim(0);
    }

    void act(SlotNumber slot) {
        for (int i = 0; i < 2; ++i) {
            page.fetch_add(1, std::memory_order_relaxed);
            node.state.add_written({0, 1});
            flush(slot);
        }
    }
};

TEST(NodeState, loses_no_write_of_ranks_that_flush_while_others_write) {
    sched::for_each_seed(4000, [](std::uint64_t seed) {
        FlushScene scene;
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {[&] { scene.act(0); }, [&] { scene.act(1); }}).failure, "");
        scene.flush(2);
        EXPECT_EQ(scene.home.peek(), 4U);
    });
}

TEST(NodeState, loses_no_harvested_write_to_a_rank_that_dies) {
    sched::for_each_death(0, 40, [](const sched::Options& options) {
        FlushScene scene;
        scene.page.store(7, std::memory_order_relaxed);
        scene.node.state.add_written({0, 1});
        const sched::Outcome outcome =
            sched::run(options, {[&] { scene.flush(0); }, [&] { scene.flush(1); }});
        EXPECT_EQ(outcome.failure, "");
        if (outcome.is_victim_hit && !options.is_victim_resumed) {
            scene.dead.store(1, std::memory_order_release);
        }
        scene.flush(2);
        EXPECT_EQ(scene.home.peek(), 7U);
        EXPECT_EQ(scene.node.state.to_flush(0), 0U);
        return outcome.is_victim_hit;
    });
}

}  // namespace
}  // namespace acp::dsm
