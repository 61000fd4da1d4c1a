// SPDX-License-Identifier: BSD-3-Clause
// Which drops of a page are followed by a fetch: after touches in succession, as often as the rule
// says, never after a drop without a touch, and as the program chose.
#include "dsm/page_updates.hpp"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace acp::dsm::test {
namespace {

constexpr std::uint64_t pages_count = 5;
constexpr pages::PageNumber page = 3;

class PageUpdatesTest : public testing::Test {
protected:
    // A rank that touches the page after each drop, for the first time before the first one. Returns the
    // drops, counted from 0, after which the page was not fetched: the rank's touch is a fault.
    std::vector<int> faults(int drops) {
        std::vector<int> found;
        bool is_fetched = false;
        for (int drop = 0; drop < drops; ++drop) {
            is_fetched = updates_.drop(page, is_fetched ? DroppedAs::mapped : DroppedAs::wanted);
            if (!is_fetched) found.push_back(drop);
        }
        return found;
    }

    PageUpdates updates_{pages_count};
};

TEST_F(PageUpdatesTest, a_page_touched_between_drops_is_fetched_twice_as_often_after_each_fault) {
    EXPECT_EQ(faults(40), (std::vector<int>{0, 5, 14, 31}));
}

TEST_F(PageUpdatesTest, a_page_is_fetched_at_256_drops_in_succession_at_most) {
    const std::vector<int> all = faults(5000);
    ASSERT_GT(all.size(), 12U);
    for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i] - all[i - 1], 257);
    EXPECT_EQ(all.back() - all[all.size() - 2], 257);
}

TEST_F(PageUpdatesTest, a_drop_without_a_touch_begins_anew) {
    (void)faults(14);
    EXPECT_FALSE(updates_.drop(page, DroppedAs::wanted));
    EXPECT_FALSE(updates_.drop(page, DroppedAs::absent));
    EXPECT_EQ(faults(6), (std::vector<int>{0, 5}));
}

TEST_F(PageUpdatesTest, a_page_that_was_unmapped_is_no_longer_learned) {
    (void)updates_.drop(page, DroppedAs::wanted);
    EXPECT_TRUE(updates_.drop(page, DroppedAs::wanted));
    EXPECT_FALSE(updates_.drop(page, DroppedAs::absent));
    EXPECT_FALSE(updates_.drop(page, DroppedAs::mapped));
}

TEST_F(PageUpdatesTest,
       a_page_that_was_mapped_beside_others_is_fetched_only_by_the_programs_choice) {
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(updates_.drop(page, DroppedAs::mapped));
    updates_.choose({page, 1}, UpdateChoice::always);
    EXPECT_TRUE(updates_.drop(page, DroppedAs::mapped));
}

// A barrier fetches it, so no fault does: 4 times, and no fault at the fifth.
TEST_F(PageUpdatesTest, a_page_that_is_touched_no_more_is_fetched_four_times) {
    (void)updates_.drop(page, DroppedAs::wanted);
    EXPECT_TRUE(updates_.drop(page, DroppedAs::wanted));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(updates_.drop(page, DroppedAs::mapped));
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(updates_.drop(page, DroppedAs::mapped));
}

TEST_F(PageUpdatesTest, a_page_touched_between_every_second_pair_of_drops_is_not_fetched) {
    for (int i = 0; i < 100; ++i)
        EXPECT_FALSE(updates_.drop(page, i % 2 == 0 ? DroppedAs::wanted : DroppedAs::absent));
}

TEST_F(PageUpdatesTest, a_page_that_is_not_mapped_is_not_fetched) {
    for (const UpdateChoice choice :
         {UpdateChoice::learn, UpdateChoice::always, UpdateChoice::never}) {
        updates_.choose({0, pages_count}, choice);
        for (int i = 0; i < 10; ++i) EXPECT_FALSE(updates_.drop(page, DroppedAs::absent));
    }
}

TEST_F(PageUpdatesTest, the_program_chooses_each_drop_or_none) {
    updates_.choose({page, 1}, UpdateChoice::always);
    EXPECT_EQ(faults(100), std::vector<int>{});
    updates_.choose({page, 1}, UpdateChoice::never);
    std::vector<int> all(100);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(faults(100), all);
}

TEST_F(PageUpdatesTest, a_choice_forgets_what_was_learned_of_its_pages_alone) {
    (void)updates_.drop(page, DroppedAs::wanted);
    (void)updates_.drop(page - 1, DroppedAs::wanted);
    updates_.choose({page, 2}, UpdateChoice::learn);
    EXPECT_FALSE(updates_.drop(page, DroppedAs::wanted));
    EXPECT_TRUE(updates_.drop(page - 1, DroppedAs::wanted));
}

}  // namespace
}  // namespace acp::dsm::test
