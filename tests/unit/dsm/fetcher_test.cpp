// SPDX-License-Identifier: BSD-3-Clause
// One fetch fills a page and its twin for all threads of a node. It gets the bytes again if no
// notice of the home's last writes follows, takes over the page of a dead rank, and reports a lost
// home.
#include "dsm/fetcher.hpp"

#include <gtest/gtest.h>

#include "unit/dsm/fake_nodes.hpp"

namespace acp::dsm::test {
namespace {

constexpr std::uint64_t pages_count = 12;

// Node 2 fetches; nodes 0 and 1 are homes of four pages each.
class FetcherTest : public testing::Test {
protected:
    FetcherTest() {
        for (pages::PageNumber page = 0; page < 8; ++page) {
            home_of(page).window.plain(page)[5] = static_cast<std::byte>(page + 1);
        }
    }

    [[nodiscard]] FakeNode& home_of(pages::PageNumber page) { return *nodes_[page / 4]; }

    [[nodiscard]] FakeNode& node() { return *nodes_[2]; }

    [[nodiscard]] pages::PageWord word(pages::PageNumber page) {
        return node().window.page_words().read(page);
    }

    void expect_page(pages::PageNumber page, int value) {
        EXPECT_EQ(std::to_integer<int>(node().window.plain(page)[5]), value);
        EXPECT_EQ(std::to_integer<int>(node().window.twin(page)[5]), value);
    }

    PageFetcher make_fetcher(pages::SlotNumber slot) {
        return PageFetcher(node().parts(slot), node().loss);
    }

    // Two nodes' memory is made before the fetcher.
    static FakeNodes& made(FakeNodes& nodes) {
        make_nodes(nodes, 3, pages_count);
        return nodes;
    }

    FakeNodes nodes_;
    PageFetcher fetcher_{made(nodes_)[2]->parts(0), nodes_[2]->loss};
};

TEST_F(FetcherTest, brings_a_page_and_its_twin_and_marks_the_node_at_the_home) {
    fetcher_.bring({6, 1});
    expect_page(6, 7);
    EXPECT_EQ(word(6).state, pages::PageState::valid);
    EXPECT_TRUE(nodes_[1]->window.sharers().has(6, 2));
    EXPECT_TRUE(node().window.clock().is_cached(6));
    EXPECT_EQ(node().link.requests(), 2U);
    fetcher_.bring({6, 1});
    EXPECT_EQ(node().link.requests(), 2U) << "the node has it";
}

TEST_F(FetcherTest, fetches_no_page_that_is_homed_here) {
    fetcher_.bring({9, 1});
    EXPECT_EQ(node().link.requests(), 0U);
}

// The home's writes behind the get have no notice, since it did not track the page.
TEST_F(FetcherTest, gets_the_bytes_again_if_the_home_was_in_the_barrier_before_the_mark) {
    node().link.reverse();
    node().link.before_mark = [this] {
        EXPECT_EQ(std::to_integer<int>(node().window.twin(6)[5]), 7) << "the get has ended";
        home_of(6).window.plain(6)[5] = std::byte{99};
        home_of(6).window.sharers().take(1, [](pages::PageNumber, pages::NodeNumber) {});
    };
    fetcher_.bring({6, 1});
    expect_page(6, 99);
    EXPECT_EQ(fetcher_.counts().repeated, 1U);
}

TEST_F(FetcherTest, gets_the_bytes_once_if_the_home_is_to_take_the_mark) {
    home_of(6).window.sharers().take(1, [](pages::PageNumber, pages::NodeNumber) {});
    node().state.end_epoch(1);
    fetcher_.bring({6, 1});
    EXPECT_EQ(fetcher_.counts().repeated, 0U);
}

TEST_F(FetcherTest, takes_the_page_of_a_dead_holder_over) {
    const auto none_is_dead = [](pages::SlotNumber) { return false; };
    EXPECT_EQ(node().window.page_words().access(3, 1, none_is_dead), pages::PageAccess::fetch);
    node().peers.dead[1] = true;
    fetcher_.bring({3, 1});
    expect_page(3, 4);
}

// Pages 3 and 4 have different homes.
TEST_F(FetcherTest, fetches_a_page_whose_neighbour_is_lost) {
    node().link.lose(1);
    const PageRange neighbours{2, 4};
    fetcher_.bring_with(3, {&neighbours, 1});
    EXPECT_TRUE(node().loss.sentences.empty());
    expect_page(2, 3);
    expect_page(3, 4);
    EXPECT_EQ(word(4).state, pages::PageState::absent);
    EXPECT_EQ(word(5).state, pages::PageState::absent);
    fetcher_.bring_with(4, {&neighbours, 1});
    EXPECT_EQ(node().loss.sentences.size(), 1U);
}

// The thread that moves page 3 may be stopped.
TEST_F(FetcherTest, fetches_a_page_without_a_wait_for_a_neighbour_that_another_rank_moves) {
    const auto none_is_dead = [](pages::SlotNumber) { return false; };
    EXPECT_EQ(node().window.page_words().access(3, 1, none_is_dead), pages::PageAccess::fetch);
    const PageRange neighbours{1, 6};
    fetcher_.bring_with(2, {&neighbours, 1});
    for (const int page : {1, 2, 4, 5, 6})
        expect_page(static_cast<pages::PageNumber>(page), page + 1);
    EXPECT_TRUE(word(3).is_held_by(1));
    EXPECT_EQ(fetcher_.counts().waits, 0U);
}

TEST_F(FetcherTest, reports_a_lost_home_and_leaves_the_page_absent) {
    node().link.lose(1);
    fetcher_.bring({4, 1});
    ASSERT_EQ(node().loss.sentences.size(), 1U);
    EXPECT_NE(node().loss.sentences[0].find("page 4"), std::string::npos);
    EXPECT_EQ(word(4).state, pages::PageState::absent);
    const base::Status status = fetcher_.fetch(PageRange{2, 4});
    EXPECT_EQ(status.code(), base::Code::peer);
    EXPECT_NE(
        status.message().find("shared pages 4 to 5 cannot be fetched from their home, node 1"),
        std::string::npos)
        << status.message();
    expect_page(2, 3);
}

// The home does not track the page for this node: its writes would have no notice.
TEST_F(FetcherTest, leaves_a_page_absent_if_the_mark_alone_has_failed) {
    node().link.lose_marks();
    EXPECT_EQ(fetcher_.fetch(PageRange{6, 1}).code(), base::Code::peer);
    EXPECT_EQ(word(6).state, pages::PageState::absent);
}

TEST_F(FetcherTest, brings_a_range_by_a_mark_and_a_get_for_each_home) {
    fetcher_.bring({2, 1});
    ASSERT_TRUE(fetcher_.fetch(PageRange{0, pages_count}).is_ok());
    EXPECT_EQ(node().link.requests(), 2U + 2 * 3) << "pages 0 and 1, page 3, pages 4 to 7";
    for (pages::PageNumber page = 0; page < 8; ++page) {
        expect_page(page, static_cast<int>(page) + 1);
    }
}

TEST_F(FetcherTest, fetches_several_ranges_with_one_copy_for_neighbours_of_one_home) {
    const std::vector<PageRange> ranges{{0, 1}, {1, 1}, {3, 0}, {3, 2}, {7, 1}};
    ASSERT_TRUE(fetcher_.fetch(ranges).is_ok());
    EXPECT_EQ(node().link.requests(), 2U * 4) << "pages 0 and 1, page 3, page 4, page 7";
    for (const pages::PageNumber page : {0U, 1U, 3U, 4U, 7U})
        expect_page(page, static_cast<int>(page) + 1);
    EXPECT_EQ(word(2).state, pages::PageState::absent);
    EXPECT_TRUE(fetcher_.fetch(std::span<const PageRange>()).is_ok());
}

TEST_F(FetcherTest, leaves_a_page_outside_of_all_allocations_as_it_is) {
    node().window.homes().assign(2, 1, {pages::HomePolicy::first_touch, false, 1, 0});
    ASSERT_TRUE(fetcher_.fetch({1, 3}).is_ok());
    EXPECT_EQ(word(2).state, pages::PageState::absent);
    EXPECT_EQ(node().link.requests(), 4U) << "pages 1 and 3";
    expect_page(3, 4);
}

TEST_F(FetcherTest, brings_a_neighbour_only_if_the_node_has_its_bytes) {
    EXPECT_FALSE(fetcher_.try_bring(5));
    fetcher_.bring({5, 1});
    EXPECT_TRUE(fetcher_.try_bring(5));
    EXPECT_TRUE(fetcher_.try_bring(9)) << "its home is here";
    EXPECT_EQ(node().link.requests(), 2U);
}

TEST_F(FetcherTest, calls_a_page_untracked_if_its_home_is_here_and_no_node_caches_it) {
    EXPECT_TRUE(fetcher_.is_untracked(9));
    EXPECT_FALSE(fetcher_.is_untracked(5));
    node().window.sharers().mark(9, 0);
    node().window.sharers().take(1, [](pages::PageNumber, pages::NodeNumber) {});
    EXPECT_FALSE(fetcher_.is_untracked(9));
}

TEST_F(FetcherTest, fetches_a_page_once_for_all_threads_of_the_node) {
    sched::for_each_seed(300, [&](std::uint64_t seed) {
        for (pages::PageNumber page = 0; page < 4; ++page) {
            node().window.page_words().invalidate(page);
        }
        const std::uint64_t before = node().link.requests();
        PageFetcher other = make_fetcher(1);
        const auto one_by_one = [](PageFetcher& fetcher) {
            for (pages::PageNumber page = 4; page-- != 0;) fetcher.bring({page, 1});
        };
        const auto range = [](PageFetcher& fetcher) {
            EXPECT_TRUE(fetcher.fetch(PageRange{0, 4}).is_ok());
        };
        sched::Options options;
        options.seed = seed;
        const auto outcome =
            sched::run(options, {[&] { one_by_one(fetcher_); }, [&] { range(fetcher_); },
                                 [&] { one_by_one(other); }, [&] { range(other); }});
        EXPECT_EQ(outcome.failure, "");
        EXPECT_LE(node().link.requests() - before, 8U);
        for (pages::PageNumber page = 0; page < 4; ++page) {
            expect_page(page, static_cast<int>(page) + 1);
        }
    });
}

}  // namespace
}  // namespace acp::dsm::test
