// SPDX-License-Identifier: BSD-3-Clause
// An evictor keeps the copies of a node within its bound, sends what was written to a copy before the
// copy goes, and leaves alone what other ranks, threads and commands use. Threads of two ranks fault on
// pages and evict them in random order; a rank may die while it evicts.
#include "dsm/page_evictor.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "dsm/page_states.hpp"

#include "unit/dsm/fake_nodes.hpp"

namespace acp::dsm::test {
namespace {

using acp::test::Random;
using pages::PageNumber;
using pages::PageState;

constexpr std::uint64_t pages_count = 64;
constexpr std::uint64_t homes_there = 48;  // pages whose home is node 0
constexpr std::uint64_t copies_max = 24;

// A rank's mapping without a kernel: the states alone.
class FakeTracker final : public Tracker {
public:
    FakeTracker(MappedPages<>& mapped, TrackerKind kind) : mapped_(mapped), kind_(kind) {}

    os::PageOutcome map(PageRange pages, MapAs as) noexcept override {
        map_states(mapped_, pages, as);
        return {};
    }

    os::PageOutcome admit(PageNumber page, os::FaultAccess /*access*/) noexcept override {
        mapped_.admit_write(page);
        return {};
    }

    os::PageOutcome unmap(PageRange pages) noexcept override {
        if (is_refused) return {"madvise", 12, nullptr, 0};
        set_states(mapped_, pages, MappedState::absent);
        return {};
    }

    os::PageOutcome arm(PageRange /*pages*/) noexcept override { return {}; }

    base::Status harvest(WrittenPages& written) noexcept override {
        report_written(mapped_, {0, mapped_.pages()}, written);
        return {};
    }

    base::Status find_written(PageRange pages, WrittenPages& written) const noexcept override {
        for (PageNumber page = pages.first; page < pages.first + pages.count; ++page)
            if (mapped_.state(page) == MappedState::written) written.add({page, 1});
        return {};
    }

    [[nodiscard]] TrackerKind kind() const noexcept override { return kind_; }

    [[nodiscard]] bool maps_whole_blocks() const noexcept override {
        return kind_ == TrackerKind::protect;
    }

    bool is_refused = false;

private:
    MappedPages<>& mapped_;
    TrackerKind kind_;
};

struct EvictingRank final : WrittenPages {
    EvictingRank(FakeNode& node_of_rank,
                 pages::SlotNumber slot_of_rank,
                 TrackerKind kind,
                 const BoundRanges& bound)
        : node(node_of_rank),
          slot(slot_of_rank),
          parts(parts_of(node, slot, bound)),
          tracker(mapped, kind),
          flusher(parts, operations::difference_code()),
          evictor(parts, flusher, mapped),
          fetcher(parts, node.loss, &evictor) {
        evictor.start(tracker);
    }

    static PageParts parts_of(FakeNode& node, pages::SlotNumber slot, const BoundRanges& bound) {
        PageParts parts = node.parts(slot);
        parts.bound = &bound;
        return parts;
    }

    void add(PageRange pages) noexcept override { node.state.add_written(pages); }

    std::byte& touch(PageNumber page, std::size_t at, bool is_write) {
        for (;;) {
            const MappedState state = mapped.state(page);
            const bool is_right =
                is_write ? state == MappedState::written : state != MappedState::absent;
            if (is_right) return node.window.plain(page)[at];
            mapped.enter(page);
            if (state == MappedState::absent) {
                fetcher.bring({page, 1});
                (void)tracker.map({page, 1}, is_write ? MapAs::writer : MapAs::reader);
            } else {
                (void)tracker.admit(page, os::FaultAccess::write);
            }
            mapped.leave(page);
        }
    }

    void flush_all() {
        (void)tracker.harvest(*this);
        EXPECT_TRUE(flusher.flush({0, pages_count}).is_ok());
    }

    FakeNode& node;
    pages::SlotNumber slot;
    PageParts parts;
    MappedPages<> mapped{pages_count};
    FakeTracker tracker;
    Flusher flusher;
    PageEvictor evictor;
    PageFetcher fetcher;
};

// Node 1 has copies of the pages of node 0.
struct EvictionScene {
    explicit EvictionScene(TrackerKind kind = TrackerKind::sync, std::uint64_t seed = 1) {
        for (std::uint32_t node = 0; node < 2; ++node) {
            nodes.push_back(
                std::make_unique<FakeNode>(nodes, node, 2, pages_count, Defect::none, seed + node));
            const pages::HomeTable<> homes = nodes.back()->window.homes();
            homes.assign(0, homes_there, {pages::HomePolicy::fixed, false, 1, 0});
            homes.assign(homes_there, pages_count - homes_there,
                         {pages::HomePolicy::fixed, false, 1, 1});
            for (PageNumber page = 0; page < pages_count; ++page)
                if (homes.home(page) == node) nodes.back()->window.page_words().become_home(page);
        }
        for (PageNumber page = 0; page < pages_count; ++page)
            home_byte(page, 0) = static_cast<std::byte>(page + 1);
        node().state.set_copies_max(copies_max);
        for (pages::SlotNumber slot = 0; slot < 2; ++slot)
            ranks.push_back(std::make_unique<EvictingRank>(node(), slot, kind, bound));
    }

    [[nodiscard]] FakeNode& node() { return *nodes[1]; }

    [[nodiscard]] std::byte& home_byte(PageNumber page, std::size_t at) {
        return nodes[page < homes_there ? 0 : 1]->window.plain(page)[at];
    }

    void expect_read(EvictingRank& rank, PageNumber page) const {
        EXPECT_EQ(rank.touch(page, 0, false), static_cast<std::byte>(page + 1)) << page;
    }

    [[nodiscard]] std::uint64_t copies() { return node().window.clock().count(); }

    BoundRanges bound;
    FakeNodes nodes;
    std::vector<std::unique_ptr<EvictingRank>> ranks;
};

class PageEvictorTest : public testing::TestWithParam<TrackerKind> {
protected:
    EvictionScene scene_{GetParam()};
    EvictingRank& rank_ = *scene_.ranks[0];
    EvictingRank& other_ = *scene_.ranks[1];
};

INSTANTIATE_TEST_SUITE_P(All,
                         PageEvictorTest,
                         testing::Values(TrackerKind::async,
                                         TrackerKind::sync,
                                         TrackerKind::protect),
                         [](const auto& test) { return name_of(test.param); });

TEST(PageEvictorBound, is_at_least_what_an_instruction_touches) {
    EXPECT_EQ(PageEvictor::copies_max_of(0), 0U);
    EXPECT_EQ(PageEvictor::copies_max_of(1), PageEvictor::copies_least);
    EXPECT_EQ(PageEvictor::copies_max_of(PageEvictor::copies_least * pages::page_bytes + 4095),
              PageEvictor::copies_least);
    EXPECT_EQ(PageEvictor::copies_max_of(std::uint64_t{1} << 30), 262'144U);
}

TEST_P(PageEvictorTest, keeps_the_bound_in_a_loop_over_more_pages) {
    for (int round = 0; round < 3; ++round) {
        for (PageNumber page = 0; page < homes_there; ++page) {
            scene_.expect_read(rank_, page);
            ASSERT_LE(scene_.copies(), copies_max);
        }
    }
    EXPECT_GE(scene_.node().counters[0].evictions.pages, 2 * homes_there);
    EXPECT_EQ(scene_.node().counters[0].evictions.sent.pages, 0U);
    scene_.expect_read(rank_, pages_count - 1);
}

TEST_P(PageEvictorTest, sends_the_writes_of_a_copy_before_it_goes) {
    for (int round = 1; round <= 3; ++round) {
        for (PageNumber page = 0; page < homes_there; ++page) {
            std::byte& byte = rank_.touch(page, 9, true);
            byte = static_cast<std::byte>(std::to_integer<int>(byte) + 1);
            ASSERT_LE(scene_.copies(), copies_max);
        }
    }
    EXPECT_GT(scene_.node().counters[0].evictions.sent.pages, 0U);
    EXPECT_EQ(scene_.node().counters[0].flushes.pages,
              scene_.node().counters[0].evictions.sent.pages);
    rank_.flush_all();
    for (PageNumber page = 0; page < homes_there; ++page) {
        EXPECT_EQ(scene_.home_byte(page, 9), std::byte{3}) << page;
        EXPECT_EQ(scene_.home_byte(page, 0), static_cast<std::byte>(page + 1));
    }
    std::uint64_t noticed = 0;
    scene_.node().state.for_each_flushed([&](PageNumber) { ++noticed; });
    EXPECT_EQ(noticed, homes_there);
}

// By the tracker async: no fault has changed the page's state.
TEST_P(PageEvictorTest, sends_writes_that_the_kernel_alone_knows) {
    if (GetParam() != TrackerKind::async) return;
    for (PageNumber page = 0; page < homes_there; ++page) {
        scene_.expect_read(rank_, page);
        scene_.node().window.plain(page)[9] = std::byte{6};
    }
    for (PageNumber page = 0; page < homes_there; ++page) {
        const PageState state = scene_.node().window.page_words().read(page).state;
        EXPECT_TRUE(state == PageState::valid || scene_.home_byte(page, 9) == std::byte{6}) << page;
    }
    EXPECT_EQ(scene_.home_byte(0, 9), std::byte{6});
}

// A tracker maps the pages of a block together.
TEST_P(PageEvictorTest, drops_a_whole_block_or_none_of_it) {
    if (GetParam() != TrackerKind::protect) return;
    scene_.expect_read(other_, 5);
    for (PageNumber page = 0; page < 16; ++page) scene_.expect_read(rank_, page);
    for (PageNumber page = 16; page < homes_there; ++page) scene_.expect_read(rank_, page);
    for (PageNumber page = 0; page < 16; ++page) {
        EXPECT_EQ(scene_.node().window.page_words().read(page).state, PageState::valid) << page;
        EXPECT_NE(rank_.mapped.state(page), MappedState::absent) << page;
    }
}

TEST_P(PageEvictorTest, leaves_copies_that_another_rank_maps) {
    for (PageNumber page = 0; page < 16; ++page) scene_.expect_read(other_, page);
    for (PageNumber page = 16; page < homes_there; ++page) scene_.expect_read(rank_, page);
    for (PageNumber page = 0; page < 16; ++page) {
        EXPECT_EQ(scene_.node().window.page_words().read(page).state, PageState::valid) << page;
        EXPECT_NE(other_.mapped.state(page), MappedState::absent) << page;
    }
    EXPECT_LE(scene_.copies(), copies_max);
}

// The home lacks these bytes.
TEST_P(PageEvictorTest, leaves_copies_with_bytes_that_are_bound_to_a_lock) {
    scene_.bound.bind(1, 3 * pages::page_bytes + 100, 8);
    for (int round = 0; round < 3; ++round)
        for (PageNumber page = 0; page < homes_there; ++page) scene_.expect_read(rank_, page);
    EXPECT_GT(scene_.node().counters[0].evictions.pages, 0U);
    EXPECT_EQ(scene_.node().window.page_words().read(3).state, PageState::valid);
    scene_.bound.unbind(1);
    for (int round = 0; round < 3; ++round)
        for (PageNumber page = homes_there / 2; page < homes_there; ++page)
            scene_.expect_read(rank_, page);
    EXPECT_EQ(scene_.node().window.page_words().read(3).state, PageState::absent);
}

TEST_P(PageEvictorTest, goes_beyond_the_bound_for_copies_that_several_ranks_map) {
    for (PageNumber page = 0; page < homes_there; ++page) {
        scene_.expect_read(rank_, page);
        scene_.expect_read(other_, page);
    }
    EXPECT_GT(scene_.copies(), copies_max);
    for (PageNumber page = 0; page < homes_there; ++page) scene_.expect_read(rank_, page);
}

TEST_P(PageEvictorTest, leaves_a_page_that_a_thread_has_entered) {
    scene_.expect_read(rank_, 5);
    rank_.mapped.enter(5);
    for (PageNumber page = 16; page < homes_there; ++page) scene_.expect_read(rank_, page);
    EXPECT_EQ(scene_.node().window.page_words().read(5).state, PageState::valid);
    EXPECT_NE(rank_.mapped.state(5), MappedState::absent);
    rank_.mapped.leave(5);
    for (PageNumber page = 16; page < homes_there; ++page) scene_.expect_read(rank_, page);
    EXPECT_EQ(scene_.node().window.page_words().read(5).state, PageState::absent);
}

TEST_P(PageEvictorTest, takes_the_memory_of_copies_that_a_barrier_invalidated_first) {
    for (PageNumber page = 0; page < copies_max; ++page) scene_.expect_read(rank_, page);
    for (PageNumber page = 0; page < copies_max; page += 2) {
        (void)rank_.tracker.unmap({page, 1});
        scene_.node().window.page_words().invalidate(page);
        scene_.node().window.clock().neglect(page);
    }
    EXPECT_EQ(scene_.copies(), copies_max) << "they have their memory";
    scene_.expect_read(rank_, 2);
    EXPECT_EQ(scene_.copies(), copies_max) << "it has memory: nothing is dropped";
    scene_.expect_read(rank_, 40);
    EXPECT_LE(scene_.copies(), copies_max);
    if (GetParam() == TrackerKind::protect) return;  // whole blocks go
    for (PageNumber page = 1; page < 8; page += 2)
        EXPECT_EQ(scene_.node().window.page_words().read(page).state, PageState::valid) << page;
}

TEST_P(PageEvictorTest, keeps_copies_whose_home_is_lost_and_that_were_written) {
    for (PageNumber page = 0; page < copies_max; ++page) rank_.touch(page, 9, true) = std::byte{7};
    scene_.node().link.lose(0);
    (void)rank_.evictor.make_room();
    for (PageNumber page = 0; page < copies_max; ++page) {
        EXPECT_EQ(scene_.node().window.page_words().read(page).state, PageState::valid) << page;
        EXPECT_EQ(rank_.touch(page, 9, false), std::byte{7});
    }
    EXPECT_EQ(scene_.node().counters[0].evictions.pages, 0U);
}

TEST_P(PageEvictorTest, keeps_copies_that_the_kernel_does_not_unmap) {
    for (PageNumber page = 0; page < copies_max; ++page) rank_.touch(page, 9, true) = std::byte{7};
    rank_.tracker.is_refused = true;
    EXPECT_FALSE(rank_.evictor.make_room());
    for (PageNumber page = 0; page < copies_max; ++page)
        EXPECT_EQ(rank_.mapped.state(page), MappedState::written) << page;
    rank_.tracker.is_refused = false;
    rank_.flush_all();
    for (PageNumber page = 0; page < copies_max; ++page)
        EXPECT_EQ(scene_.home_byte(page, 9), std::byte{7}) << page;
}

TEST_P(PageEvictorTest, a_fetch_ahead_ends_where_no_copy_may_be_dropped) {
    for (PageNumber page = 0; page < copies_max; ++page) {
        scene_.expect_read(rank_, page);
        scene_.expect_read(other_, page);
    }
    EXPECT_TRUE(rank_.fetcher.fetch(PageRange{30, 10}, PageFetcher::Need::ahead).is_ok());
    EXPECT_EQ(scene_.copies(), copies_max);
    EXPECT_TRUE(rank_.fetcher.fetch(PageRange{30, 10}).is_ok());
    EXPECT_GT(scene_.copies(), copies_max);
}

TEST_P(PageEvictorTest, a_fault_fetches_no_window_where_no_copy_may_be_dropped) {
    for (PageNumber page = 0; page < copies_max; ++page) {
        scene_.expect_read(rank_, page);
        scene_.expect_read(other_, page);
    }
    const PageRange window{30, 10};
    rank_.fetcher.bring_with(29, {&window, 1});
    EXPECT_EQ(scene_.copies(), copies_max + 1);
    scene_.expect_read(rank_, 29);
}

TEST_P(PageEvictorTest, counts_pages_of_a_stream_that_go_before_a_fault_shows_their_use) {
    for (PageNumber page = 0; page < copies_max; ++page) {
        scene_.expect_read(rank_, page);
        rank_.mapped.fetch_ahead(page);
    }
    EXPECT_TRUE(rank_.evictor.make_room());
    const PageCounters& counters = scene_.node().counters[0];
    EXPECT_GT(counters.evictions.pages, 0U);
    EXPECT_EQ(counters.calls.unused, counters.evictions.pages);
}

// A dead rank has dropped the page from its mapping, and not sent its writes.
TEST_P(PageEvictorTest, a_fetch_sends_the_writes_of_a_page_whose_evictor_died) {
    other_.touch(3, 9, true) = std::byte{7};
    const auto lives = [](pages::SlotNumber) { return false; };
    ASSERT_TRUE(scene_.node().window.page_words().begin_drop(3, 1, lives));
    scene_.node().state.add_written({3, 1});
    scene_.node().peers.dead[1] = true;
    scene_.home_byte(3, 10) = std::byte{8};
    scene_.expect_read(rank_, 3);
    EXPECT_EQ(rank_.touch(3, 9, false), std::byte{7});
    EXPECT_EQ(rank_.touch(3, 10, false), std::byte{8});
    EXPECT_EQ(scene_.home_byte(3, 9), std::byte{7});
}

// No rank may touch the page before the barrier, which flushes it.
TEST_P(PageEvictorTest, a_flush_sends_the_writes_of_a_page_whose_evictor_died) {
    other_.touch(3, 9, true) = std::byte{7};
    const auto lives = [](pages::SlotNumber) { return false; };
    ASSERT_TRUE(scene_.node().window.page_words().begin_drop(3, 1, lives));
    scene_.node().state.add_written({3, 1});
    scene_.node().peers.dead[1] = true;
    rank_.flush_all();
    EXPECT_EQ(scene_.home_byte(3, 9), std::byte{7});
    scene_.expect_read(rank_, 3);
    EXPECT_EQ(rank_.touch(3, 9, false), std::byte{7});
}

// Each thread adds to bytes of its own in any pages, of which each rank prefers a half.
class EvictionProgram {
public:
    EvictionProgram(TrackerKind kind, std::uint64_t seed) : scene_(kind, seed), seed_(seed) {}

    void act(std::uint32_t thread, int count) {
        EvictingRank& rank = *scene_.ranks[thread / 2];
        Random random(seed_ * 8 + thread);
        for (int i = 0; i < count; ++i) {
            PageNumber page = random.below(homes_there / 2) * 2 + rank.slot;
            if (random.chance(5)) page = random.below(pages_count);
            std::byte& byte = rank.touch(page, 1 + thread, true);
            EXPECT_EQ(byte, written[thread][page]) << "page " << page << " seed " << seed_;
            byte = static_cast<std::byte>(random.below(256));
            written[thread][page] = byte;
            scene_.expect_read(rank, page);
            if (random.chance(30)) sched::pause();
        }
    }

    // The rest of the writes is sent, as by a barrier.
    void finish(bool is_first_dead) {
        if (!is_first_dead) scene_.ranks[0]->flush_all();
        scene_.ranks[1]->flush_all();
        for (std::uint32_t thread = is_first_dead ? 2 : 0; thread < 4; ++thread) {
            for (PageNumber page = 0; page < pages_count; ++page) {
                EXPECT_EQ(scene_.home_byte(page, 1 + thread), written[thread][page])
                    << "page " << page << " thread " << thread << " seed " << seed_;
            }
        }
        for (PageNumber page = 0; page < pages_count; ++page)
            EXPECT_EQ(scene_.home_byte(page, 0), static_cast<std::byte>(page + 1)) << page;
    }

    [[nodiscard]] EvictionScene& scene() { return scene_; }

    std::array<std::array<std::byte, pages_count>, 4> written{};

private:
    EvictionScene scene_;
    std::uint64_t seed_;
};

class EvictionPrograms : public testing::TestWithParam<TrackerKind> {};

INSTANTIATE_TEST_SUITE_P(All,
                         EvictionPrograms,
                         testing::Values(TrackerKind::async, TrackerKind::sync),
                         [](const auto& test) { return name_of(test.param); });

TEST_P(EvictionPrograms, of_two_ranks_with_two_threads_lose_no_write) {
    std::uint64_t evicted = 0;
    std::uint64_t sent = 0;
    sched::for_each_seed(400, [&](std::uint64_t seed) {
        EvictionProgram program(GetParam(), seed);
        sched::Options options;
        options.seed = seed;
        std::vector<std::function<void()>> fibers;
        for (std::uint32_t thread = 0; thread < 4; ++thread)
            fibers.emplace_back([&program, thread] { program.act(thread, 60); });
        EXPECT_EQ(sched::run(options, fibers).failure, "");
        program.finish(false);
        for (const PageCounters& counters : program.scene().node().counters) {
            evicted += counters.evictions.pages;
            sent += counters.evictions.sent.pages;
        }
    });
    EXPECT_GT(evicted, 10'000U);
    EXPECT_GT(sent, 1000U);
}

// The first thread of rank 0 dies, and with it the second one, which therefore does nothing here.
TEST_P(EvictionPrograms, a_rank_that_dies_in_an_eviction_harms_no_other_one) {
    sched::for_each_death(0, 2, [&](const sched::Options& options) {
        if (options.is_victim_resumed) return false;
        EvictionProgram program(GetParam(), options.seed);
        program.scene().node().link.separate();
        sched::Options mine = options;
        const auto bury = [&] {
            FakeNode& node = program.scene().node();
            node.peers.dead[0] = true;
            for (PageNumber page = 0; page < pages_count; ++page)
                node.peers.wake(node.window.page_words().word(page));
        };
        mine.on_stall = bury;
        const sched::Outcome outcome =
            sched::run(mine, {[&] { program.act(0, 25); }, [&] { program.act(2, 25); },
                              [&] { program.act(3, 25); }});
        EXPECT_EQ(outcome.failure, "");
        if (outcome.is_victim_hit) bury();
        program.finish(outcome.is_victim_hit);
        return outcome.is_victim_hit;
    });
}

}  // namespace
}  // namespace acp::dsm::test
