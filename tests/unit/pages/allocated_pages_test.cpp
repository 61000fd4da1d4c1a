// SPDX-License-Identifier: BSD-3-Clause
// Allocated pages against a model: an owner for each page.
#include "pages/allocated_pages.hpp"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

namespace acp::pages {
namespace {

TEST(AllocatedPagesTest, takes_the_lowest_run_that_is_long_enough) {
    AllocatedPages book(10);
    EXPECT_EQ(book.allocate(3), 0);
    EXPECT_EQ(book.allocate(3), 3);
    EXPECT_EQ(book.allocate(3), 6);
    EXPECT_EQ(book.allocate(2), std::nullopt);
    book.free(3);
    EXPECT_EQ(book.allocate(4), std::nullopt);
    EXPECT_EQ(book.allocate(2), 3);
    EXPECT_EQ(book.allocate(1), 5);
    EXPECT_EQ(book.allocate(1), 9);
    EXPECT_EQ(book.pages_taken(), 10);
}

TEST(AllocatedPagesTest, joins_what_was_freed_with_both_neighbours) {
    AllocatedPages book(3);
    for (PageNumber page = 0; page < 3; ++page) EXPECT_EQ(book.allocate(1), page);
    book.free(0);
    book.free(2);
    book.free(1);
    EXPECT_EQ(book.pages_taken(), 0);
    EXPECT_EQ(book.allocate(3), 0);
}

TEST(AllocatedPagesTest, knows_the_pages_at_the_beginning_of_an_allocation_alone) {
    AllocatedPages book(8);
    EXPECT_EQ(book.allocate(5), 0);
    EXPECT_EQ(book.count_at(0), 5);
    EXPECT_EQ(book.count_at(1), std::nullopt);
    EXPECT_EQ(book.count_at(5), std::nullopt);
    book.free(0);
    EXPECT_EQ(book.count_at(0), std::nullopt);
    EXPECT_EQ(AllocatedPages(0).allocate(1), std::nullopt);
}

TEST(AllocatedPagesTest, have_each_page_of_a_range) {
    AllocatedPages book(200);
    EXPECT_FALSE(book.has_all(0, 1));
    EXPECT_EQ(book.allocate(2), 0);
    EXPECT_EQ(book.allocate(3), 2);
    EXPECT_EQ(book.allocate(64), 5);
    EXPECT_EQ(book.allocate(1), 70);
    EXPECT_TRUE(book.has_all(0, 69));
    EXPECT_TRUE(book.has_all(1, 68));
    EXPECT_TRUE(book.has_all(70, 1));
    EXPECT_FALSE(book.has_all(0, 70)) << "the page behind a long allocation stays unused";
    EXPECT_FALSE(book.has_all(69, 1));
    EXPECT_FALSE(book.has_all(69, 2));
    EXPECT_FALSE(book.has_all(70, 2));
    book.free(2);
    EXPECT_FALSE(book.has_all(1, 8)) << "a freed allocation lies in it";
    EXPECT_FALSE(book.has_all(2, 1));
    EXPECT_TRUE(book.has_all(5, 64));
}

TEST(AllocatedPagesTest, finds_the_allocation_of_a_page) {
    AllocatedPages book(200);
    EXPECT_EQ(book.first_of(0), std::nullopt);
    EXPECT_EQ(book.allocate(2), 0);
    EXPECT_EQ(book.allocate(64), 2);
    EXPECT_EQ(book.allocate(1), 67);
    EXPECT_EQ(book.first_of(0), 0);
    EXPECT_EQ(book.first_of(1), 0);
    EXPECT_EQ(book.first_of(2), 2);
    EXPECT_EQ(book.first_of(65), 2);
    EXPECT_EQ(book.first_of(66), std::nullopt) << "it stays unused";
    EXPECT_EQ(book.first_of(67), 67);
    EXPECT_EQ(book.first_of(68), std::nullopt);
    book.free(2);
    EXPECT_EQ(book.first_of(2), std::nullopt);
    EXPECT_EQ(book.first_of(1), 0);
}

TEST(AllocatedPagesTest,
     long_allocations_are_not_a_power_of_two_apart_and_fit_as_they_were_counted) {
    AllocatedPages book(std::uint64_t{3} * 8192);
    EXPECT_EQ(book.allocate(8192), 0);
    EXPECT_EQ(book.allocate(8192), 8193);
    EXPECT_EQ(book.allocate(8192), 2 * 8193);
    EXPECT_EQ(book.pages_taken(), 3 * 8192);
    EXPECT_EQ(book.count_at(8193), 8192);
    book.free(8193);
    EXPECT_EQ(book.pages_taken(), 2 * 8192);
    EXPECT_EQ(book.allocate(8192), 8193);

    for (const std::uint64_t count : {1U, 63U, 64U, 65U, 127U, 128U, 1000U}) {
        AllocatedPages full(count * 20);
        for (int i = 0; i < 20; ++i) {
            const auto first = full.allocate(count);
            ASSERT_TRUE(first.has_value()) << i << " of " << count << " pages";
            EXPECT_EQ(full.count_at(*first), count);
        }
        EXPECT_EQ(full.pages_taken(), full.page_count());
    }
}

TEST(AllocatedPagesTest, never_gives_a_page_twice_and_refuses_only_when_no_run_is_free) {
    constexpr std::uint64_t pages = 63;  // no long allocations
    std::minstd_rand random(7);
    AllocatedPages book(pages);
    std::vector<bool> is_taken(pages);
    std::map<PageNumber, std::uint64_t> live;
    const auto lowest_run = [&](std::uint64_t count) {
        std::uint64_t run = 0;
        for (PageNumber page = 0; page < pages; ++page) {
            run = is_taken[page] ? 0 : run + 1;
            if (run == count) return std::optional<PageNumber>(page + 1 - count);
        }
        return std::optional<PageNumber>();
    };
    for (int step = 0; step < 20000; ++step) {
        if (random() % 2 == 0 || live.empty()) {
            const std::uint64_t count = 1 + random() % 12;
            const auto expected = lowest_run(count);
            ASSERT_EQ(book.allocate(count), expected);
            if (!expected) continue;
            live[*expected] = count;
            std::fill_n(is_taken.begin() + static_cast<std::ptrdiff_t>(*expected), count, true);
        } else {
            const auto chosen =
                std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % live.size()));
            const auto [first, count] = *chosen;
            ASSERT_EQ(book.count_at(first), count);
            book.free(first);
            std::fill_n(is_taken.begin() + static_cast<std::ptrdiff_t>(first), count, false);
            live.erase(chosen);
        }
        ASSERT_EQ(book.count(), live.size());
        ASSERT_EQ(book.pages_taken(),
                  static_cast<std::uint64_t>(std::count(is_taken.begin(), is_taken.end(), true)));
    }
}

}  // namespace
}  // namespace acp::pages
