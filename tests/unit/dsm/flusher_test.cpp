// SPDX-License-Identifier: BSD-3-Clause
// A flush sends the changed bytes of written pages to their homes and to the twins: those of several
// writers of a page merge, long differences arrive in parts, and a page whose writes did not arrive
// stays to be flushed.
#include "dsm/flusher.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "pages/page_merge.hpp"
#include "unit/dsm/fake_nodes.hpp"

namespace acp::dsm::test {
namespace {

constexpr std::uint64_t pages_count = 60;

// Nodes 1 and 2 write; node 0 is the home of the first 20 pages.
class FlusherTest : public testing::Test {
protected:
    FlusherTest() { make_nodes(nodes_, 3, pages_count); }

    void write(std::uint32_t node, pages::PageNumber page, std::size_t at, int value) {
        if (nodes_[node]->window.page_words().read(page).state != pages::PageState::home)
            nodes_[node]->fetch(page);
        nodes_[node]->window.plain(page)[at] = static_cast<std::byte>(value);
        nodes_[node]->state.add_written({page, 1});
    }

    [[nodiscard]] base::Status flush(std::uint32_t node, PageRange pages = {0, pages_count}) {
        Flusher flusher(nodes_[node]->parts(0), operations::difference_code());
        return flusher.flush(pages);
    }

    [[nodiscard]] int home_byte(pages::PageNumber page, std::size_t at) const {
        return std::to_integer<int>(nodes_[0]->window.plain(page)[at]);
    }

    [[nodiscard]] int twin_byte(std::uint32_t node, pages::PageNumber page, std::size_t at) const {
        return std::to_integer<int>(nodes_[node]->window.twin(page)[at]);
    }

    [[nodiscard]] std::vector<pages::PageNumber> flushed(std::uint32_t node) const {
        std::vector<pages::PageNumber> pages;
        nodes_[node]->state.for_each_flushed([&](auto page) { pages.push_back(page); });
        return pages;
    }

    FakeNodes nodes_;
};

TEST_F(FlusherTest, merges_the_bytes_of_several_writers_at_the_home) {
    nodes_[0]->window.plain(3)[9] = std::byte{33};
    write(1, 3, 8, 11);
    write(2, 3, 10, 22);
    ASSERT_TRUE(flush(1).is_ok());
    ASSERT_TRUE(flush(2).is_ok());
    EXPECT_EQ(home_byte(3, 8), 11);
    EXPECT_EQ(home_byte(3, 9), 33);
    EXPECT_EQ(home_byte(3, 10), 22);
    EXPECT_EQ(twin_byte(1, 3, 8), 11);
    EXPECT_EQ(twin_byte(1, 3, 10), 0) << "of the other writer";
    EXPECT_EQ(flushed(1), std::vector<pages::PageNumber>{3});
    EXPECT_EQ(nodes_[1]->state.to_flush(0), 0U);
    EXPECT_EQ(nodes_[1]->window.page_words().read(3).epoch, 1U);
}

// Both ends of a page, and a range inside.
TEST_F(FlusherTest, sends_no_byte_that_is_bound_to_a_lock_and_leaves_the_twin_as_it_is) {
    BoundRanges bound;
    bound.bind(1, 3 * pages::page_bytes - 4, 8);
    bound.bind(2, 3 * pages::page_bytes + 100, 50);
    bound.bind(3, 4 * pages::page_bytes - 1, 1);
    for (std::size_t at = 0; at < pages::page_bytes; ++at) write(1, 3, at, 7);
    PageParts parts = nodes_[1]->parts(0);
    parts.bound = &bound;
    Flusher flusher(parts, operations::difference_code());
    ASSERT_TRUE(flusher.flush({0, pages_count}).is_ok());
    for (std::size_t at = 0; at < pages::page_bytes; ++at) {
        const bool is_bound = at < 4 || (at >= 100 && at < 150) || at == pages::page_bytes - 1;
        ASSERT_EQ(home_byte(3, at), is_bound ? 0 : 7) << at;
        ASSERT_EQ(twin_byte(1, 3, at), is_bound ? 0 : 7) << at;
    }
    write(1, 3, 120, 9);
    EXPECT_TRUE(flusher.flush({0, pages_count}).is_ok());
    EXPECT_EQ(home_byte(3, 120), 0);
    EXPECT_EQ(nodes_[1]->state.to_flush(0), 0U);
}

TEST_F(FlusherTest, sends_a_long_difference_in_parts) {
    for (std::size_t at = 0; at < pages::page_bytes; ++at) {
        if (at % 64 != 63) write(1, 0, at, static_cast<int>(at % 250 + 1));
    }
    ASSERT_TRUE(flush(1).is_ok());
    for (std::size_t at = 0; at < pages::page_bytes; ++at) {
        ASSERT_EQ(home_byte(0, at), at % 64 != 63 ? static_cast<int>(at % 250 + 1) : 0) << at;
    }
    EXPECT_GE(nodes_[1]->link.applies(), 4U);
}

TEST_F(FlusherTest, sends_and_notices_nothing_of_a_page_with_equal_bytes) {
    write(1, 4, 0, 0);
    ASSERT_TRUE(flush(1).is_ok());
    EXPECT_EQ(nodes_[1]->link.applies(), 0U);
    EXPECT_TRUE(flushed(1).empty());
    EXPECT_EQ(nodes_[1]->state.to_flush(0), 0U);
}

TEST_F(FlusherTest, notices_a_page_that_is_homed_here_and_sends_nothing) {
    write(0, 4, 0, 5);
    ASSERT_TRUE(flush(0).is_ok());
    EXPECT_EQ(nodes_[0]->link.applies(), 0U);
    EXPECT_EQ(flushed(0), std::vector<pages::PageNumber>{4});
}

TEST_F(FlusherTest, flushes_more_pages_than_are_in_flight_at_once) {
    for (pages::PageNumber page = 0; page < 20; ++page) write(1, page, 1, 7);
    ASSERT_TRUE(flush(1, {2, 17}).is_ok());
    for (pages::PageNumber page = 0; page < 20; ++page) {
        EXPECT_EQ(home_byte(page, 1), page >= 2 && page < 19 ? 7 : 0) << page;
    }
    EXPECT_EQ(nodes_[1]->state.to_flush(0), 0b11U | 1U << 19) << "those out of the range";
}

TEST_F(FlusherTest, keeps_the_writes_that_a_lost_home_did_not_get) {
    write(1, 50, 0, 5);
    write(1, 4, 0, 6);
    nodes_[1]->link.lose(2);
    const base::Status status = flush(1);
    EXPECT_EQ(status.code(), base::Code::peer);
    EXPECT_NE(status.message().find("page 50"), std::string::npos) << status.message();
    EXPECT_EQ(home_byte(4, 0), 6) << "of another home";
    EXPECT_EQ(nodes_[1]->state.to_flush(0), std::uint64_t{1} << 50);
    EXPECT_EQ(twin_byte(1, 50, 0), 0);
}

TEST_F(FlusherTest, continues_the_flush_of_a_dead_rank) {
    const auto none_is_dead = [](pages::SlotNumber) { return false; };
    write(1, 4, 0, 5);
    ASSERT_EQ(nodes_[1]->state.claim(0, 1, none_is_dead), GroupClaim::claimed);
    nodes_[1]->state.begin_flush(4);
    ASSERT_TRUE(flush(1).is_ok());
    EXPECT_EQ(home_byte(4, 0), 0) << "the claim's rank lives";
    nodes_[1]->peers.dead[1] = true;
    ASSERT_TRUE(flush(1).is_ok());
    EXPECT_EQ(home_byte(4, 0), 5);
}

// The home has got the byte 5, which a thread has restored since.
TEST_F(FlusherTest, sends_the_copy_of_a_dead_rank_before_what_was_written_since) {
    const auto none_is_dead = [](pages::SlotNumber) { return false; };
    FakeNode& node = *nodes_[1];
    write(1, 4, 0, 5);
    ASSERT_EQ(node.state.claim(0, 1, none_is_dead), GroupClaim::claimed);
    node.state.begin_flush(4);
    const PageJournal journal = node.journals().of(1);
    pages::copy_words(journal.copy(2), node.window.plain(4));
    journal.begin(2, JournalStep::sending, 4);
    nodes_[0]->window.plain(4)[0] = std::byte{5};
    node.peers.dead[1] = true;
    node.window.plain(4)[0] = std::byte{0};
    node.window.plain(4)[1] = std::byte{7};
    ASSERT_TRUE(flush(1).is_ok());
    EXPECT_EQ(home_byte(4, 0), 0);
    EXPECT_EQ(home_byte(4, 1), 7);
    EXPECT_EQ(journal.read(2).step, JournalStep::none);
    EXPECT_EQ(node.state.to_flush(0), 0U);
}

// A rank dies at any step of a flush, and then a thread of another one restores the byte.
TEST(FlusherDeaths, leave_a_page_of_which_another_rank_sends_what_was_restored_since) {
    std::uint64_t deaths = 0;
    sched::for_each_death(0, 10, [&deaths](const sched::Options& options) {
        if (options.is_victim_resumed) return false;
        FakeNodes nodes;
        make_nodes(nodes, 2, 4);
        FakeNode& node = *nodes[1];
        node.fetch(1);
        node.window.plain(1)[0] = std::byte{5};
        node.state.add_written({1, 1});
        const auto flush = [&node](pages::SlotNumber slot) {
            Flusher flusher(node.parts(slot), operations::difference_code());
            EXPECT_TRUE(flusher.flush({0, 4}).is_ok());
        };
        sched::Options mine = options;
        mine.on_stall = [&node] { node.peers.dead[0] = true; };
        const sched::Outcome outcome = sched::run(mine, {[&] { flush(0); }});
        EXPECT_EQ(outcome.failure, "");
        node.peers.dead[0] = outcome.is_victim_hit;
        node.window.plain(1)[0] = std::byte{0};
        node.state.add_written({1, 1});
        flush(1);
        EXPECT_EQ(nodes[0]->window.plain(1)[0], std::byte{0});
        EXPECT_EQ(node.window.twin(1)[0], std::byte{0});
        deaths += outcome.is_victim_hit ? 1 : 0;
        return outcome.is_victim_hit;
    });
    EXPECT_GT(deaths, 10U);
}

TEST_F(FlusherTest, completes_the_journals_of_several_ranks_that_died_one_after_the_other) {
    FakeNode& node = *nodes_[1];
    write(1, 4, 0, 5);
    write(1, 5, 0, 6);
    for (const pages::SlotNumber slot : {1U, 2U}) {
        const pages::PageNumber page = 3 + slot;
        const auto is_dead = [&](pages::SlotNumber other) { return node.peers.dead[other]; };
        EXPECT_NE(node.state.claim(0, slot, is_dead), GroupClaim::refused);
        node.state.begin_flush(page);
        pages::copy_words(node.journals().of(slot).copy(0), node.window.plain(page));
        node.journals().of(slot).begin(0, JournalStep::sending, page);
        node.peers.dead[slot] = true;
    }
    node.window.plain(4)[0] = node.window.plain(5)[0] = std::byte{0};
    ASSERT_TRUE(flush(1).is_ok());
    EXPECT_EQ(node.link.applies(), 4U) << "each copy, and then each page";
    EXPECT_EQ(home_byte(4, 0), 0);
    EXPECT_EQ(home_byte(5, 0), 0);
}

TEST_F(FlusherTest, sends_nothing_of_a_page_that_the_node_has_dropped) {
    write(1, 4, 0, 5);
    nodes_[1]->window.page_words().invalidate(4);
    ASSERT_TRUE(flush(1).is_ok());
    EXPECT_EQ(nodes_[1]->link.applies(), 0U);
    EXPECT_EQ(nodes_[1]->state.to_flush(0), 0U);
}

TEST_F(FlusherTest, leaves_a_page_to_the_thread_that_drops_it) {
    const auto none_is_dead = [](pages::SlotNumber) { return false; };
    const pages::PageWords<> words = nodes_[1]->window.page_words();
    write(1, 4, 0, 5);
    ASSERT_TRUE(words.begin_drop(4, 0, none_is_dead));
    ASSERT_TRUE(flush(1).is_ok());
    EXPECT_EQ(nodes_[1]->link.applies(), 0U);
    EXPECT_EQ(nodes_[1]->state.to_flush(0), 1U << 4);
    Flusher flusher(nodes_[1]->parts(0), operations::difference_code());
    ASSERT_TRUE(flusher.flush_held(4).is_ok());
    EXPECT_EQ(home_byte(4, 0), 5);
    EXPECT_EQ(nodes_[1]->state.to_flush(0), 0U);
}

TEST_F(FlusherTest, sends_again_what_was_written_behind_a_flush) {
    write(1, 4, 0, 5);
    ASSERT_TRUE(flush(1).is_ok());
    write(1, 4, 0, 0);
    ASSERT_TRUE(flush(1).is_ok());
    EXPECT_EQ(home_byte(4, 0), 0);
    EXPECT_EQ(nodes_[1]->link.applies(), 2U);
}

}  // namespace
}  // namespace acp::dsm::test
