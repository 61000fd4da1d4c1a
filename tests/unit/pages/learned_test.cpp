// SPDX-License-Identifier: BSD-3-Clause
// A node that twice fetched a page after its home wrote it gets the page pushed from then on; one
// that stops, writes the page or is forgotten does not; and the table keeps its bound. One thread.
#include "pages/learned.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace acp::pages {
namespace {

using Pushes = std::vector<PushRun>;

struct Learned : testing::Test {
    LearnedSharers sharers{100};

    Pushes end_epoch(PageNumber first = 0, std::uint64_t count = 10) {
        const MergedRun written{first, count, notice_written, 0};
        const auto pushes = sharers.end_epoch({&written, 1});
        return {pushes.begin(), pushes.end()};
    }

    Pushes end_epoch_without_writes() {
        const auto pushes = sharers.end_epoch({});
        return {pushes.begin(), pushes.end()};
    }

    // Node 1 fetches page 4 twice, each time after a write.
    void learn() {
        for (int i = 0; i < 2; ++i) {
            sharers.note_fetch(4, 1);
            (void)end_epoch();
        }
        ASSERT_EQ(end_epoch(), (Pushes{{1, 4, 1}}));
    }
};

TEST_F(Learned, pushes_to_a_node_after_its_second_fetch_and_from_then_on) {
    sharers.note_fetch(4, 1);
    EXPECT_EQ(end_epoch(), Pushes{});
    sharers.note_fetch(4, 1);
    EXPECT_EQ(end_epoch(), (Pushes{{1, 4, 1}}));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(end_epoch(), (Pushes{{1, 4, 1}})) << "without a fetch";
}

TEST_F(Learned, counts_no_epoch_in_which_the_home_did_not_write) {
    sharers.note_fetch(4, 1);
    EXPECT_EQ(end_epoch_without_writes(), Pushes{});
    EXPECT_EQ(end_epoch(), Pushes{}) << "the copy of the epoch before was valid";
    EXPECT_EQ(end_epoch_without_writes(), Pushes{});
    sharers.note_fetch(4, 1);
    EXPECT_EQ(end_epoch_without_writes(), Pushes{});
    EXPECT_EQ(end_epoch(5, 3), Pushes{}) << "other pages";
    EXPECT_EQ(end_epoch(), (Pushes{{1, 4, 1}}));
}

TEST_F(Learned, begins_anew_after_a_write_that_no_fetch_follows) {
    for (int i = 0; i < 5; ++i) {
        sharers.note_fetch(4, 1);
        EXPECT_EQ(end_epoch(), Pushes{});
        EXPECT_EQ(end_epoch(), Pushes{});
    }
}

TEST_F(Learned, pushes_runs_in_the_order_of_nodes_and_pages) {
    for (int i = 0; i < 2; ++i) {
        for (PageNumber page = 6; page-- > 2;) {
            sharers.note_fetch(page, 2);
            if (page != 3) sharers.note_fetch(page, 1);
        }
        (void)end_epoch();
    }
    EXPECT_EQ(end_epoch(), (Pushes{{1, 2, 1}, {1, 4, 2}, {2, 2, 4}}));
    EXPECT_EQ(end_epoch(3, 2), (Pushes{{1, 4, 1}, {2, 3, 2}})) << "only what was written";
}

TEST_F(Learned, never_pushes_to_a_node_that_wrote_the_page) {
    learn();
    sharers.note_writer(4, 1);
    sharers.note_writer(5, 1);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(end_epoch(), Pushes{});
        sharers.note_fetch(4, 1);
        sharers.note_fetch(5, 1);
    }
    EXPECT_EQ(end_epoch(), Pushes{});
}

TEST_F(Learned, learns_a_forgotten_node_again) {
    learn();
    sharers.forget(4, 1);
    sharers.forget(7, 1);
    EXPECT_EQ(end_epoch(), Pushes{});
    learn();
}

TEST_F(Learned, knows_nothing_of_pages_that_the_home_lost) {
    learn();
    sharers.note_writer(5, 2);
    sharers.note_fetch(4, 3);
    sharers.forget_pages(4, 2);
    EXPECT_EQ(end_epoch(), Pushes{});
    EXPECT_EQ(sharers.size(), 0U);
}

TEST(LearnedBound, keeps_at_most_its_number_of_pairs) {
    LearnedSharers sharers(3);
    const MergedRun written{0, 100, notice_written, 0};
    for (int i = 0; i < 3; ++i) {
        for (PageNumber page = 0; page < 4; ++page) sharers.note_fetch(page, 1);
        (void)sharers.end_epoch({&written, 1});
    }
    EXPECT_EQ(sharers.size(), 3U);
    const auto pushes = sharers.end_epoch({&written, 1});
    EXPECT_EQ(Pushes(pushes.begin(), pushes.end()), (Pushes{{1, 0, 3}}));
}

TEST(LearnedBound, gives_the_place_of_an_idle_pair_to_a_new_one) {
    LearnedSharers sharers(1);
    const MergedRun written{0, 100, notice_written, 0};
    sharers.note_fetch(0, 1);
    for (int i = 0; i < 2; ++i) (void)sharers.end_epoch({&written, 1});
    for (int i = 0; i < 2; ++i) {
        sharers.note_fetch(1, 1);
        (void)sharers.end_epoch({&written, 1});
    }
    const auto pushes = sharers.end_epoch({&written, 1});
    EXPECT_EQ(Pushes(pushes.begin(), pushes.end()), (Pushes{{1, 1, 1}}));
}

// Later the home could not distinguish the writer, which it has not noted, from a reader.
TEST(LearnedBound, learns_nothing_new_once_a_writer_had_no_place) {
    LearnedSharers sharers(1);
    const MergedRun written{0, 100, notice_written, 0};
    sharers.note_fetch(0, 1);
    (void)sharers.end_epoch({&written, 1});
    sharers.note_writer(9, 1);
    sharers.forget(0, 1);
    for (int i = 0; i < 5; ++i) {
        sharers.note_fetch(9, 1);
        EXPECT_TRUE(sharers.end_epoch({&written, 1}).empty());
    }
}

}  // namespace
}  // namespace acp::pages
