// SPDX-License-Identifier: BSD-3-Clause
// Ranges that are begun arrive at the homes without a wait of the caller; after finish() all have.
#include "dsm/early_flusher.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

#include "unit/dsm/fake_nodes.hpp"

namespace acp::dsm::test {
namespace {

constexpr std::uint64_t pages_count = 200;

class EarlyFlusherTest : public testing::Test {
protected:
    EarlyFlusherTest() { make_nodes(nodes_, 3, pages_count); }

    void write(pages::PageNumber page, int value) {
        node().window.plain(page)[9] = static_cast<std::byte>(value);
        node().state.add_written({page, 1});
    }

    [[nodiscard]] FakeNode& node() { return *nodes_[1]; }

    [[nodiscard]] int home_byte(pages::PageNumber page) const {
        return std::to_integer<int>(nodes_[0]->window.plain(page)[9]);
    }

    FakeNodes nodes_;
};

TEST_F(EarlyFlusherTest, flushes_each_range_that_was_begun) {
    Flusher flusher(node().parts(0), operations::difference_code());
    for (pages::PageNumber page = 0; page < 60; ++page) node().fetch(page);
    EarlyFlusher early(flusher);
    for (int round = 1; round <= 20; ++round) {
        for (const pages::PageNumber page : {3U, 40U, 7U}) {
            write(page, round);
            early.begin({page, 1});
        }
        early.finish();
        for (const pages::PageNumber page : {3U, 40U, 7U}) ASSERT_EQ(home_byte(page), round);
    }
    EXPECT_EQ(node().state.to_flush(0), 0U);
}

// The flush that has begun is slow.
TEST_F(EarlyFlusherTest, finishes_behind_the_flush_that_has_begun) {
    Flusher flusher(node().parts(0), operations::difference_code());
    node().fetch(5);
    write(5, 8);
    std::atomic<bool> has_begun{false};
    node().link.before_apply = [&has_begun] {
        has_begun.store(true);
        has_begun.notify_all();
        std::this_thread::sleep_for(std::chrono::milliseconds(30));  // lint: sleep is the subject
    };
    EarlyFlusher early(flusher);
    early.begin({5, 1});
    has_begun.wait(false);
    early.finish();
    EXPECT_EQ(home_byte(5), 8);
}

TEST_F(EarlyFlusherTest, flushes_what_was_begun_before_it_ends) {
    Flusher flusher(node().parts(0), operations::difference_code());
    node().fetch(5);
    write(5, 8);
    {
        EarlyFlusher early(flusher);
        early.begin({0, 64});
    }
    EXPECT_EQ(home_byte(5), 8);
}

TEST_F(EarlyFlusherTest, has_nothing_to_finish_without_a_range) {
    Flusher flusher(node().parts(0), operations::difference_code());
    EarlyFlusher early(flusher);
    early.finish();
    EXPECT_EQ(node().link.requests(), 0U);
}

// A page that did not arrive is left to the barrier.
TEST_F(EarlyFlusherTest, leaves_what_a_lost_home_did_not_get) {
    Flusher flusher(node().parts(0), operations::difference_code());
    node().fetch(5);
    write(5, 8);
    node().link.lose(0);
    EarlyFlusher early(flusher);
    early.begin({5, 1});
    early.finish();
    EXPECT_EQ(node().state.to_flush(0), 1U << 5);
}

}  // namespace
}  // namespace acp::dsm::test
