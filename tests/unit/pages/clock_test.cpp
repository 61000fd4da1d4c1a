// SPDX-License-Identifier: BSD-3-Clause
// The clock keeps its bound, drops what was not used since the hand came by, leaves what its caller
// must keep, and counts right among several processes, also after one of them was killed.
#include "pages/clock.hpp"

#include <array>
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "pages/page_word.hpp"
#include "support/interleave.hpp"
#include "support/random.hpp"

namespace acp::pages {
namespace {

namespace sched = test::sched;

using Pages = std::set<PageNumber>;

template <template <class> class Atomic = std::atomic>
struct ClockOf {
    explicit ClockOf(std::uint64_t pages)
        : memory(CacheClock<Atomic>::bytes(pages) / sizeof(std::uint64_t)),
          clock(memory.data(), pages) {}

    // What the clock drops to keep its bound; all pages may go.
    [[nodiscard]] Pages shrink_to(std::uint64_t pages_max) const {
        Pages dropped;
        offer(pages_max, [&](PageNumber page) {
            EXPECT_TRUE(dropped.insert(page).second) << "dropped twice";
            clock.remove(page);
        });
        return dropped;
    }

    template <typename Drop>
    void offer(std::uint64_t pages_max, const Drop& drop) const {
        typename CacheClock<Atomic>::Sweep sweep(clock);
        std::array<PageNumber, 1> page{};
        while (clock.count() > pages_max && sweep.next(page) == 1) drop(page[0]);
    }

    [[nodiscard]] std::uint64_t cached(std::uint64_t pages) const {
        std::uint64_t count = 0;
        for (PageNumber page = 0; page < pages; ++page) {
            if (clock.is_cached(page)) ++count;
        }
        return count;
    }

    std::vector<Atomic<std::uint64_t>> memory;
    CacheClock<Atomic> clock;
};

TEST(CacheClockTest, counts_each_copy_once) {
    ClockOf<> node(200);
    for (int i = 0; i < 2; ++i) {
        for (const PageNumber page : {0U, 63U, 64U, 199U}) node.clock.use(page);
    }
    EXPECT_EQ(node.clock.count(), 4U);
    node.clock.remove(63);
    node.clock.remove(63);
    node.clock.remove(100);
    EXPECT_EQ(node.clock.count(), 3U);
    EXPECT_FALSE(node.clock.is_cached(63));
    EXPECT_TRUE(node.clock.is_cached(64));
}

TEST(CacheClockTest, drops_nothing_within_its_bound) {
    ClockOf<> node(100);
    for (PageNumber page = 0; page < 10; ++page) node.clock.use(page);
    EXPECT_EQ(node.shrink_to(10), Pages{});
    EXPECT_EQ(node.shrink_to(9).size(), 1U) << "one beyond it";
    EXPECT_EQ(node.clock.count(), 9U);
}

TEST(CacheClockTest, gives_each_page_that_was_used_a_second_chance) {
    ClockOf<> node(300);
    for (PageNumber page = 0; page < 300; ++page) node.clock.use(page);
    EXPECT_EQ(node.shrink_to(290).size(), 10U) << "all were used: the second round takes the first";
    const Pages kept = {100, 128, 299};
    for (const PageNumber page : kept) node.clock.use(page);
    EXPECT_EQ(node.shrink_to(3).size(), 287U);
    for (const PageNumber page : kept) EXPECT_TRUE(node.clock.is_cached(page)) << page;
}

TEST(CacheClockTest, keeps_a_program_that_uses_few_of_many_pages_in_its_bound) {
    ClockOf<> node(1000);
    test::Random random(13);
    std::uint64_t misses = 0;
    constexpr int rounds = 20'000;
    for (int i = 0; i < rounds; ++i) {
        // Nine of ten uses are of 50 pages, each tenth one is of any.
        const PageNumber page = random.chance(90) ? random.below(50) * 20 : random.below(1000);
        if (!node.clock.is_cached(page)) ++misses;
        node.clock.use(page);
        (void)node.shrink_to(100);
        ASSERT_LE(node.clock.count(), 100U);
    }
    EXPECT_LT(misses, rounds / 5) << "the pages in use stay";
}

TEST(CacheClockTest, ends_when_no_page_may_go) {
    ClockOf<> node(130);
    for (PageNumber page = 0; page < 130; ++page) node.clock.use(page);
    std::uint64_t offers = 0;
    node.offer(0, [&](PageNumber) { ++offers; });
    EXPECT_EQ(node.clock.count(), 130U);
    EXPECT_EQ(offers, 130U) << "each page is offered once in two rounds, the first takes its bit";
    node.offer(0, [&](PageNumber page) {
        if (page % 2 == 0) node.clock.remove(page);
    });
    EXPECT_EQ(node.clock.count(), 65U);
}

TEST(CacheClockTest, returns_old_pages_in_steps_of_any_size) {
    ClockOf<> node(300);
    for (PageNumber page = 0; page < 300; page += 3) node.clock.use(page);
    CacheClock<>::Sweep sweep(node.clock);
    std::array<PageNumber, 7> room{};
    Pages all;
    for (std::size_t count = room.size(); count == room.size();) {
        count = sweep.next(room);
        for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(all.insert(room[i]).second) << room[i];
    }
    EXPECT_EQ(all.size(), 100U);
    EXPECT_EQ(sweep.next(room), 0U) << "two rounds are over";
}

TEST(CacheClockTest, takes_a_neglected_page_before_those_in_use) {
    ClockOf<> node(100);
    for (PageNumber page = 0; page < 100; ++page) node.clock.use(page);
    node.clock.neglect(70);
    node.clock.neglect(70);
    EXPECT_EQ(node.shrink_to(99), Pages{70});
}

TEST(CacheClockTest, admits_new_copies_up_to_the_bound) {
    ClockOf<> node(100);
    for (PageNumber page = 0; page < 10; ++page) EXPECT_TRUE(node.clock.try_use(page, 10)) << page;
    EXPECT_FALSE(node.clock.try_use(10, 10));
    EXPECT_FALSE(node.clock.is_cached(10));
    EXPECT_EQ(node.clock.count(), 10U);
    EXPECT_TRUE(node.clock.try_use(3, 10)) << "it has the copy";
    EXPECT_TRUE(node.clock.try_use(3, 5)) << "also beyond a lower bound";
    EXPECT_EQ(node.clock.count(), 10U);
    node.clock.remove(3);
    EXPECT_TRUE(node.clock.try_use(10, 10));
}

TEST(CacheClockTest, admits_no_copy_beyond_the_bound_to_several_processes) {
    sched::for_each_seed(2000, [](std::uint64_t seed) {
        ClockOf<sched::Atomic> node(8);
        const auto act = [&](PageNumber first) {
            for (PageNumber page = first; page < first + 4; ++page) {
                (void)node.clock.try_use(page, 3);
                EXPECT_LE(node.clock.count(), 3U);
            }
        };
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {[&] { act(0); }, [&] { act(4); }}).failure, "");
        EXPECT_EQ(node.clock.count(), 3U);
        EXPECT_EQ(node.cached(8), 3U);
    });
}

// Processes that fetch and drop pages by their words, as those of a node do.
struct CachingScene {
    static constexpr std::uint64_t pages_count = 5;

    std::vector<sched::Atomic<std::uint64_t>> memory =
        std::vector<sched::Atomic<std::uint64_t>>(pages_count);
    PageWords<sched::Atomic> words{memory.data(), pages_count};
    ClockOf<sched::Atomic> node{pages_count};

    static bool is_dead(SlotNumber) { return false; }

    void act(SlotNumber slot, std::uint64_t seed) const {
        test::Random random(seed * 3 + slot);
        for (int i = 0; i < 4; ++i) {
            const PageNumber page = random.below(pages_count);
            if (words.access(page, slot, is_dead) != PageAccess::fetch) continue;
            node.clock.use(page);
            EXPECT_TRUE(words.end_fetch(page, slot, true));
            node.offer(2, [&](PageNumber old) { drop(old, slot); });
        }
    }

    void drop(PageNumber page, SlotNumber slot) const {
        if (!words.begin_drop(page, slot, is_dead)) return;
        node.clock.remove(page);
        EXPECT_TRUE(words.abandon(page, slot));
    }

    void expect_exact() const {
        std::uint64_t valid = 0;
        for (PageNumber page = 0; page < pages_count; ++page) {
            const bool is_valid = words.read(page).state == PageState::valid;
            EXPECT_EQ(node.clock.is_cached(page), is_valid) << page;
            if (is_valid) ++valid;
        }
        EXPECT_EQ(node.clock.count(), valid);
    }
};

TEST(CacheClockTest, counts_the_copies_of_several_processes) {
    sched::for_each_seed(2000, [](std::uint64_t seed) {
        CachingScene scene;
        sched::Options options;
        options.seed = seed;
        EXPECT_EQ(sched::run(options, {[&] { scene.act(0, seed); }, [&] { scene.act(1, seed); },
                                       [&] { scene.act(2, seed); }})
                      .failure,
                  "");
        scene.expect_exact();
    });
}

TEST(CacheClockTest, is_recounted_after_a_process_was_killed_between_bit_and_count) {
    sched::for_each_death(0, 20, [](const sched::Options& options) {
        ClockOf<sched::Atomic> node(3);
        node.clock.use(2);
        const auto victim = [&] {
            node.clock.use(0);
            node.clock.remove(2);
        };
        const auto other = [&] { node.clock.use(1); };
        const sched::Outcome outcome = sched::run(options, {victim, other});
        EXPECT_EQ(outcome.failure, "");
        const std::uint64_t cached = node.cached(3);
        const std::uint64_t count = node.clock.count();
        EXPECT_LE(count > cached ? count - cached : cached - count, 1U) << "wrong by one at most";
        node.clock.recount();
        EXPECT_EQ(node.clock.count(), cached);
        return outcome.is_victim_hit;
    });
}

}  // namespace
}  // namespace acp::pages
