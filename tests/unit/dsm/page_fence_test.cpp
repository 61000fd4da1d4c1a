// SPDX-License-Identifier: BSD-3-Clause
// A fence sends the writes of a node in a range, whether a tracker found them or not, and merges those
// of other nodes into the copy and the twin, beside bytes that threads write at the same time. It leaves
// pages without a copy alone, waits for pages that a thread moves, and completes the merge of a rank
// that died.
#include "dsm/page_fence.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "dsm/word_waits.hpp"

#include "pages/page_merge.hpp"
#include "unit/dsm/fake_nodes.hpp"

namespace acp::dsm::test {
namespace {

constexpr std::uint64_t pages_count = 200;

// Node 0 is the home of the first 67 pages.
class PageFenceTest : public testing::Test {
protected:
    PageFenceTest() { make_nodes(nodes_, 3, pages_count); }

    [[nodiscard]] base::Status fence(std::uint32_t node,
                                     PageRange pages,
                                     pages::SlotNumber slot = 0) {
        const PageParts parts = nodes_[node]->parts(slot);
        Flusher flusher(parts, operations::difference_code());
        PageFence fence(parts, flusher);
        return fence.synchronize(pages);
    }

    [[nodiscard]] std::byte& byte(std::uint32_t node, pages::PageNumber page, std::size_t at) {
        return nodes_[node]->window.plain(page)[at];
    }

    [[nodiscard]] std::byte& twin_byte(std::uint32_t node, pages::PageNumber page, std::size_t at) {
        return nodes_[node]->window.twin(page)[at];
    }

    FakeNodes nodes_;
};

TEST_F(PageFenceTest, exchanges_the_bytes_of_two_writers_of_a_page) {
    for (const std::uint32_t node : {1U, 2U}) nodes_[node]->fetch(3);
    byte(1, 3, 8) = std::byte{11};
    byte(2, 3, 9) = std::byte{22};
    ASSERT_TRUE(fence(1, {3, 1}).is_ok());
    EXPECT_EQ(byte(0, 3, 8), std::byte{11});
    EXPECT_EQ(byte(1, 3, 9), std::byte{0}) << "not yet at the home";
    ASSERT_TRUE(fence(2, {3, 1}).is_ok());
    EXPECT_EQ(byte(0, 3, 9), std::byte{22});
    EXPECT_EQ(byte(2, 3, 8), std::byte{11});
    EXPECT_EQ(twin_byte(2, 3, 8), std::byte{11});
    ASSERT_TRUE(fence(1, {3, 1}).is_ok());
    EXPECT_EQ(byte(1, 3, 9), std::byte{22});
    EXPECT_EQ(twin_byte(1, 3, 9), std::byte{22});
    EXPECT_EQ(nodes_[1]->state.to_flush(0), 0U);
}

TEST_F(PageFenceTest, leaves_bytes_that_are_bound_to_a_lock_as_they_are) {
    BoundRanges bound;
    bound.bind(1, 3 * pages::page_bytes + 100, 8);
    PageParts parts = nodes_[1]->parts(0);
    parts.bound = &bound;
    Flusher flusher(parts, operations::difference_code());
    PageFence both(parts, flusher);
    nodes_[1]->fetch(3);
    for (const std::size_t at : {99U, 100U, 107U, 108U}) byte(0, 3, at) = std::byte{5};
    ASSERT_TRUE(both.synchronize({3, 1}).is_ok());
    for (const std::size_t at : {99U, 108U}) EXPECT_EQ(byte(1, 3, at), std::byte{5}) << at;
    for (const std::size_t at : {100U, 107U}) {
        EXPECT_EQ(byte(1, 3, at), std::byte{0}) << at;
        EXPECT_EQ(twin_byte(1, 3, at), std::byte{0}) << at;
    }
}

TEST_F(PageFenceTest, brings_what_the_home_wrote) {
    nodes_[1]->fetch(3);
    byte(0, 3, 100) = std::byte{5};
    ASSERT_TRUE(fence(1, {3, 1}).is_ok());
    EXPECT_EQ(byte(1, 3, 100), std::byte{5});
    std::uint64_t noticed = 0;
    nodes_[1]->state.for_each_flushed([&](pages::PageNumber) { ++noticed; });
    EXPECT_EQ(noticed, 0U) << "this node wrote nothing";
}

TEST_F(PageFenceTest, notices_what_this_node_sent) {
    nodes_[1]->fetch(3);
    byte(1, 3, 100) = std::byte{5};
    ASSERT_TRUE(fence(1, {0, pages_count}).is_ok());
    std::vector<pages::PageNumber> noticed;
    nodes_[1]->state.for_each_flushed([&](pages::PageNumber page) { noticed.push_back(page); });
    EXPECT_EQ(noticed, std::vector<pages::PageNumber>{3});
    EXPECT_EQ(nodes_[1]->window.page_words().read(3).epoch, 1U);
}

TEST_F(PageFenceTest, leaves_pages_without_a_copy_and_homes_alone) {
    byte(1, 80, 0) = std::byte{9};
    ASSERT_TRUE(fence(1, {0, pages_count}).is_ok());
    EXPECT_EQ(nodes_[1]->link.requests(), 0U);
    EXPECT_EQ(nodes_[1]->window.page_words().read(3).state, pages::PageState::absent);
    EXPECT_EQ(byte(1, 80, 0), std::byte{9});
}

TEST_F(PageFenceTest, takes_more_pages_than_the_journal_has_room_for) {
    constexpr pages::PageNumber last = 66;
    for (pages::PageNumber page = 0; page <= last; ++page) {
        nodes_[1]->fetch(page);
        byte(0, page, 1) = std::byte{3};
        byte(1, page, 2) = std::byte{4};
    }
    ASSERT_TRUE(fence(1, {0, pages_count}).is_ok());
    for (pages::PageNumber page = 0; page <= last; ++page) {
        ASSERT_EQ(byte(1, page, 1), std::byte{3}) << page;
        ASSERT_EQ(byte(0, page, 2), std::byte{4}) << page;
    }
}

TEST_F(PageFenceTest, leaves_a_copy_whose_home_is_lost_as_it_is) {
    nodes_[1]->fetch(3);
    nodes_[1]->fetch(150);
    byte(0, 3, 0) = std::byte{1};
    byte(2, 150, 0) = std::byte{2};
    nodes_[1]->link.lose(2);
    const base::Status status = fence(1, {0, pages_count});
    EXPECT_EQ(status.code(), base::Code::peer);
    EXPECT_NE(status.message().find("page 150"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("node 2"), std::string::npos) << status.message();
    EXPECT_EQ(byte(1, 3, 0), std::byte{1});
    EXPECT_EQ(byte(1, 150, 0), std::byte{0});
    EXPECT_EQ(nodes_[1]->window.page_words().read(150).state, pages::PageState::valid);
}

// The dead rank has merged word 0 into the page and the twin, word 1 into the page, and no other one.
TEST_F(PageFenceTest, completes_the_merge_of_a_rank_that_died) {
    const auto none_is_dead = [](pages::SlotNumber) { return false; };
    FakeNode& node = *nodes_[1];
    node.fetch(3);
    const PageJournal journal = node.journals().of(2);
    for (const std::size_t at : {std::size_t{0}, std::size_t{8}, std::size_t{16}}) {
        byte(0, 3, at) = std::byte{5};
        journal.copy(1)[at] = std::byte{5};
    }
    EXPECT_EQ(node.state.claim(0, 2, none_is_dead), GroupClaim::claimed);
    node.state.begin_flush(3);
    journal.begin(1, JournalStep::merging, 3);
    byte(1, 3, 0) = twin_byte(1, 3, 0) = byte(1, 3, 8) = std::byte{5};
    node.peers.dead[2] = true;
    // The home has newer bytes there, of which this node wrote none.
    byte(0, 3, 8) = byte(0, 3, 16) = std::byte{6};
    Flusher flusher(node.parts(1), operations::difference_code());
    ASSERT_TRUE(flusher.flush({3, 1}).is_ok());
    EXPECT_EQ(node.link.applies(), 0U);
    EXPECT_EQ(byte(0, 3, 8), std::byte{6});
    EXPECT_EQ(journal.read(1).step, JournalStep::none);
    ASSERT_TRUE(fence(1, {3, 1}, 1).is_ok());
    for (const std::size_t at : {std::size_t{8}, std::size_t{16}})
        EXPECT_EQ(byte(1, 3, at), std::byte{6}) << at;
}

TEST_F(PageFenceTest, waits_for_a_rank_that_has_the_claim_and_for_a_thread_that_moves_the_page) {
    sched::for_each_seed(200, [](std::uint64_t seed) {
        FakeNodes nodes;
        make_nodes(nodes, 2, 4);
        FakeNode& node = *nodes[1];
        node.fetch(0);
        const auto none_is_dead = [](pages::SlotNumber) { return false; };
        const auto exchange = [&node](pages::SlotNumber slot) {
            Flusher flusher(node.parts(slot), operations::difference_code());
            PageFence both(node.parts(slot), flusher);
            EXPECT_TRUE(both.synchronize({0, 2}).is_ok());
        };
        bool has_written = false;
        sched::Options options;
        options.seed = seed;
        const sched::Outcome outcome = sched::run(
            options, {[&] { exchange(0); },
                      [&] {
                          node.fetch(1, 1);
                          if (!node.window.page_words().begin_drop(1, 1, none_is_dead)) return;
                          sched::pause();
                          (void)node.window.page_words().end_fetch(1, 1, true);
                          wake_waiters(node.state, node.peers, node.window.page_words().word(1));
                      },
                      [&] {
                          sched::pause();
                          nodes[0]->window.plain(0)[7] = std::byte{4};
                          has_written = true;
                          exchange(2);
                          EXPECT_EQ(node.window.plain(0)[7], std::byte{4});
                      }});
        EXPECT_EQ(outcome.failure, "");
        EXPECT_TRUE(has_written);
    });
}

// An eviction drops no page that is to be flushed, and another rank completes the merge of a dead one there.
TEST_F(PageFenceTest, counts_a_page_as_unsent_until_it_is_merged) {
    nodes_[1]->fetch(3);
    byte(1, 3, 8) = std::byte{11};
    bool is_unsent = false;
    nodes_[1]->link.before_get_into = [&](pages::PageNumber page) {
        is_unsent = nodes_[1]->state.has_unsent(page);
    };
    ASSERT_TRUE(fence(1, {3, 1}).is_ok());
    EXPECT_TRUE(is_unsent);
    EXPECT_FALSE(nodes_[1]->state.has_unsent(3));
}

// The thread keeps the page at last.
TEST_F(PageFenceTest, leaves_a_written_page_to_the_thread_that_moves_it_and_then_exchanges_it) {
    sched::for_each_seed(100, [](std::uint64_t seed) {
        FakeNodes nodes;
        make_nodes(nodes, 2, 4);
        FakeNode& node = *nodes[1];
        node.fetch(1, 1);
        const auto none_is_dead = [](pages::SlotNumber) { return false; };
        const auto before = node.window.page_words().begin_drop(1, 1, none_is_dead);
        ASSERT_TRUE(before.has_value());
        node.window.plain(1)[8] = std::byte{11};
        nodes[0]->window.plain(1)[9] = std::byte{22};
        node.state.add_written({1, 1});
        sched::Options options;
        options.seed = seed;
        const sched::Outcome outcome = sched::run(
            options, {[&] {
                          Flusher flusher(node.parts(0), operations::difference_code());
                          PageFence both(node.parts(0), flusher);
                          EXPECT_TRUE(both.synchronize({0, 2}).is_ok());
                          EXPECT_EQ(nodes[0]->window.plain(1)[8], std::byte{11});
                          EXPECT_EQ(node.window.plain(1)[9], std::byte{22});
                      },
                      [&] {
                          for (int i = 0; i < 20; ++i) {
                              EXPECT_TRUE(node.state.has_unsent(1))
                                  << "an eviction would lose its writes";
                              EXPECT_EQ(node.link.applies(), 0U);
                              sched::pause();
                          }
                          node.window.page_words().cancel_drop(1, 1, *before);
                          wake_waiters(node.state, node.peers, node.window.page_words().word(1));
                      }});
        EXPECT_EQ(outcome.failure, "");
        EXPECT_FALSE(node.state.has_unsent(1));
    });
}

// The journal that another rank reads if this one dies in the merge.
PageJournal* watched_journal = nullptr;
pages::PageSpan* watched_page = nullptr;
JournalEntry seen_at_first_write;

void note_first_write(int /*signal*/) {
    seen_at_first_write = watched_journal->read(0);
    mprotect(watched_page->data(), watched_page->size(), PROT_READ | PROT_WRITE);
}

TEST_F(PageFenceTest, names_a_page_in_its_journal_before_it_merges_a_byte) {
    FakeNode& node = *nodes_[1];
    node.fetch(3);
    byte(0, 3, 8) = std::byte{11};
    PageJournal journal = node.journals().of(0);
    pages::PageSpan page = node.window.plain(3);
    watched_journal = &journal;
    watched_page = &page;

    struct sigaction action {};

    struct sigaction former {};

    action.sa_handler = note_first_write;
    ASSERT_EQ(sigaction(SIGSEGV, &action, &former), 0);
    ASSERT_EQ(mprotect(page.data(), page.size(), PROT_READ), 0);
    const base::Status status = fence(1, {3, 1});
    sigaction(SIGSEGV, &former, nullptr);
    ASSERT_TRUE(status.is_ok());
    EXPECT_EQ(byte(1, 3, 8), std::byte{11});
    EXPECT_EQ(seen_at_first_write.step, JournalStep::merging);
    EXPECT_EQ(seen_at_first_write.page, 3U);
    EXPECT_EQ(journal.read(0).step, JournalStep::none);
}

TEST_F(PageFenceTest, orders_the_writes_of_the_node_for_the_check) {
    for (const auto& node : nodes_) node->check_writes();
    for (const std::uint32_t node : {1U, 2U}) nodes_[node]->fetch(3);
    const auto races = [&] {
        nodes_[0]->races->find();
        return nodes_[0]->races->notice()[0] + 0;
    };
    byte(1, 3, 8) = std::byte{11};
    ASSERT_TRUE(fence(1, {3, 1}).is_ok());
    byte(2, 3, 8) = std::byte{22};
    nodes_[2]->state.add_written({3, 1});
    Flusher flusher(nodes_[2]->parts(0), operations::difference_code());
    ASSERT_TRUE(flusher.flush({0, pages_count}).is_ok());
    EXPECT_EQ(races(), 0) << "the fence of node 1 came before the write of node 2";
    byte(1, 3, 8) = std::byte{33};
    nodes_[1]->state.add_written({3, 1});
    Flusher other(nodes_[1]->parts(0), operations::difference_code());
    ASSERT_TRUE(other.flush({0, pages_count}).is_ok());
    EXPECT_EQ(races(), 1);
    ASSERT_TRUE(fence(2, {0, pages_count}).is_ok());
    EXPECT_EQ(races(), 0);
    byte(0, 3, 8) = std::byte{44};
    EXPECT_EQ(races(), 1) << "the home writes behind node 1";
    ASSERT_TRUE(fence(0, {3, 1}).is_ok());
    EXPECT_EQ(races(), 0);
}

// Two ranks of node 1 write bytes of their own, and exchange them by fences and flushes, while the home
// writes too.
class FenceProgram {
public:
    static constexpr std::uint64_t pages = 3;  // all of node 0
    static constexpr std::size_t home_byte = 20;
    static constexpr int rounds = 3;

    FenceProgram() {
        make_nodes(nodes_, 2, 2 * pages);
        for (pages::PageNumber page = 0; page < pages; ++page) node().fetch(page);
        node().link.separate();
    }

    void exchange(pages::SlotNumber slot) {
        Flusher flusher(node().parts(slot), operations::difference_code());
        PageFence fence(node().parts(slot), flusher);
        for (int round = 1; round <= rounds; ++round) {
            for (pages::PageNumber page = 0; page < pages; ++page) {
                at(1, page, slot) = static_cast<std::byte>(round);
                if (round == 2) node().state.add_written({page, 1});
            }
            const base::Status status =
                round == 2 ? flusher.flush({0, pages}) : fence.synchronize({0, pages});
            EXPECT_TRUE(status.is_ok()) << status.message();
            if (slot == 1 && round != 2) expect_home_has(slot, round);
        }
    }

    void write_home() {
        for (int round = 1; round <= rounds; ++round) {
            for (pages::PageNumber page = 0; page < pages; ++page) {
                at(0, page, home_byte) = static_cast<std::byte>(round);
                sched::pause();
            }
        }
    }

    // The first rank is dead, or the process that watches over it says so to those that wait.
    void bury() {
        node().peers.dead[0] = true;
        node().peers.wake(node().state.claim_word(0));
        for (pages::PageNumber page = 0; page < pages; ++page)
            node().peers.wake(node().window.page_words().word(page));
    }

    // The second rank completes what a dead one began, and the copies are the home's pages.
    void finish() {
        Flusher flusher(node().parts(1), operations::difference_code());
        PageFence fence(node().parts(1), flusher);
        EXPECT_TRUE(fence.synchronize({0, pages}).is_ok());
        expect_home_has(1, rounds);
        EXPECT_EQ(node().state.to_flush(0), 0U);
        EXPECT_EQ(node().state.claim_word(0).load(), 0U);
        for (pages::PageNumber page = 0; page < pages; ++page) {
            EXPECT_EQ(at(1, page, home_byte), static_cast<std::byte>(rounds)) << page;
            for (std::size_t i = 0; i < 64; ++i) {
                EXPECT_EQ(at(1, page, i), at(0, page, i)) << page << " at " << i;
                EXPECT_EQ(node().window.twin(page)[i], at(0, page, i)) << page << " at " << i;
            }
        }
        for (std::size_t i = 0; i < PageJournal::pages_max; ++i)
            EXPECT_EQ(node().journals().of(0).read(i).step, JournalStep::none) << i;
    }

private:
    [[nodiscard]] FakeNode& node() { return *nodes_[1]; }

    [[nodiscard]] std::byte& at(std::uint32_t node, pages::PageNumber page, std::size_t place) {
        return nodes_[node]->window.plain(page)[place];
    }

    void expect_home_has(pages::SlotNumber slot, int round) {
        for (pages::PageNumber page = 0; page < pages; ++page)
            EXPECT_EQ(at(0, page, slot), static_cast<std::byte>(round)) << page;
    }

    FakeNodes nodes_;
};

TEST(PageFencePrograms, a_rank_that_dies_or_stops_in_a_fence_or_a_flush_harms_no_other_one) {
    std::uint64_t deaths = 0;
    sched::for_each_death(0, 10, [&deaths](const sched::Options& options) {
        FenceProgram program;
        sched::Options mine = options;
        if (!options.is_victim_resumed) mine.on_stall = [&program] { program.bury(); };
        const sched::Outcome outcome = sched::run(
            mine, {[&program] { program.exchange(0); }, [&program] { program.exchange(1); },
                   [&program] { program.write_home(); }});
        EXPECT_EQ(outcome.failure, "");
        if (outcome.is_victim_hit && !options.is_victim_resumed) program.bury();
        program.finish();
        deaths += outcome.is_victim_hit ? 1 : 0;
        return outcome.is_victim_hit;
    });
    EXPECT_GT(deaths, 500U);
}

}  // namespace
}  // namespace acp::dsm::test
