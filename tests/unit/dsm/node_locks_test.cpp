// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a node share of a long range: the release that they have seen, the holder, and the
// pages that were sent; those that ranges share belong to each of them, and a binding begins anew.
#include "dsm/node_locks.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace acp::dsm::test {
namespace {

constexpr std::uint64_t page = pages::page_bytes;
constexpr std::uint64_t pages_count = 300;

class NodeLocksTest : public testing::Test {
protected:
    const BoundRange& bind(std::uint64_t first, std::uint64_t bytes) {
        ranges_.bind(++lock_, first, bytes, BoundWay::logged);
        return *ranges_.find(lock_);
    }

    std::vector<pages::PageNumber> changed(const BoundRange& range) {
        std::vector<pages::PageNumber> pages;
        locks_.take_changed(range, [&](pages::PageNumber of) { pages.push_back(of); });
        return pages;
    }

    using Pages = std::vector<pages::PageNumber>;

    std::vector<std::atomic<std::uint64_t>> words_ =
        std::vector<std::atomic<std::uint64_t>>(NodeLocks<>::bytes(pages_count) / 8);
    NodeLocks<> locks_{words_.data(), pages_count};
    BoundRanges ranges_;
    memory::GlobalAddress lock_ = 0;
};

TEST_F(NodeLocksTest, a_node_has_seen_the_releases_before_the_binding) {
    const BoundRange& range = bind(0, 10 * page);
    EXPECT_EQ(locks_.seen(range), range.first_release());
    locks_.note_seen(range, range.first_release() + 5);
    locks_.note_seen(range, range.first_release() + 3);
    const std::uint64_t before = range.first_release();
    EXPECT_EQ(locks_.seen(range), before + 5);
    ranges_.unbind(lock_);
    const BoundRange& later = bind(0, 20 * page);
    EXPECT_EQ(locks_.seen(later), later.first_release());
    EXPECT_GT(later.first_release(), before + 5);
}

TEST_F(NodeLocksTest, one_rank_holds_a_lock) {
    const BoundRange& range = bind(0, page);
    EXPECT_EQ(locks_.holder(range), 0U);
    locks_.begin_hold(range, 4);
    EXPECT_EQ(locks_.holder(range), 5U);
    locks_.begin_hold(range, 0);
    locks_.end_hold(range, 4);
    EXPECT_EQ(locks_.holder(range), 1U) << "it took the lock before the other one was done";
    locks_.end_hold(range, 0);
    EXPECT_EQ(locks_.holder(range), 0U);
    locks_.begin_hold(range, 2);
    ranges_.unbind(lock_);
    EXPECT_EQ(locks_.holder(bind(0, page)), 0U);
}

TEST_F(NodeLocksTest, changed_pages_are_taken_once_and_in_ascending_order) {
    const BoundRange& range = bind(page / 2, 200 * page);
    for (const pages::PageNumber of : {200U, 64U, 0U, 63U, 199U, 1U, 64U})
        locks_.note_changed(range, of);
    EXPECT_EQ(changed(range), (Pages{0, 1, 63, 64, 199, 200}));
    EXPECT_EQ(changed(range), Pages());
    const BoundRange& whole = bind(256 * page, page * 2);
    locks_.note_changed(whole, 256);
    locks_.note_changed(whole, 257);
    EXPECT_EQ(changed(range), Pages());
    EXPECT_EQ(changed(whole), (Pages{256, 257}));
}

TEST_F(NodeLocksTest, a_page_that_ranges_share_changes_in_each_of_them) {
    const BoundRange& one = bind(10, 993);
    const BoundRange& next = bind(1003, 993);
    const BoundRange& last = bind(1996, 4 * page);
    for (const BoundRange* const range : {&one, &next, &last}) locks_.note_changed(*range, 0);
    locks_.begin_hold(next, 3);
    EXPECT_EQ(changed(next), Pages{0});
    EXPECT_EQ(locks_.holder(next), 4U);
    EXPECT_EQ(changed(one), Pages{0});
    EXPECT_EQ(changed(one), Pages());
    EXPECT_EQ(changed(last), Pages{0});
    locks_.note_changed(last, 4);
    EXPECT_EQ(changed(last), Pages{4});
}

}  // namespace
}  // namespace acp::dsm::test
