// SPDX-License-Identifier: BSD-3-Clause
// The table of ranges that are bound to locks: by lock, and by the pages that have their bytes.
#include "dsm/bound_ranges.hpp"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

namespace acp::dsm::test {
namespace {

constexpr std::uint64_t page = pages::page_bytes;

std::vector<memory::GlobalAddress> locks_in(const BoundRanges& ranges, PageRange pages) {
    std::vector<memory::GlobalAddress> found;
    ranges.for_each_in(pages, [&](const BoundRange& range) { found.push_back(range.lock); });
    EXPECT_EQ(ranges.first_in(pages) == nullptr ? 0 : ranges.first_in(pages)->lock,
              found.empty() ? 0 : found.front());
    return found;
}

using Found = std::vector<memory::GlobalAddress>;

TEST(BoundRangesTest, a_range_is_found_in_each_page_that_has_a_byte_of_it) {
    BoundRanges ranges;
    EXPECT_EQ(locks_in(ranges, {0, 100}), Found());
    ranges.bind(30, 3 * page - 1, 2);
    ranges.bind(10, page, 8);
    ranges.bind(20, 2 * page - 8, 8);
    EXPECT_EQ(locks_in(ranges, {0, 1}), Found());
    EXPECT_EQ(locks_in(ranges, {1, 1}), (Found{10, 20}));
    EXPECT_EQ(locks_in(ranges, {2, 1}), Found{30});
    EXPECT_EQ(locks_in(ranges, {3, 1}), Found{30});
    EXPECT_EQ(locks_in(ranges, {4, 9}), Found());
    EXPECT_EQ(locks_in(ranges, {0, 9}), (Found{10, 20, 30}));
    EXPECT_EQ(ranges.find(30)->pages().first, 2U);
    EXPECT_EQ(ranges.find(30)->pages().count, 2U);
    EXPECT_EQ(ranges.find(20)->pages().count, 1U);
}

TEST(BoundRangesTest, only_the_range_of_another_lock_is_in_the_way) {
    BoundRanges ranges;
    ranges.bind(10, 100, 8);
    EXPECT_EQ(ranges.other_in(10, 96, 16), nullptr);
    EXPECT_EQ(ranges.other_in(11, 108, 8), nullptr);
    EXPECT_EQ(ranges.other_in(11, 92, 8), nullptr);
    ASSERT_NE(ranges.other_in(11, 107, 1), nullptr);
    EXPECT_EQ(ranges.other_in(11, 93, 8)->lock, 10U);
    ranges.bind(12, 110, 1);
    EXPECT_EQ(ranges.other_in(10, 96, 16)->lock, 12U);
}

TEST(BoundRangesTest, a_thread_that_has_released_the_lock_leaves_the_number_of_the_next_holder) {
    BoundRanges ranges;
    ranges.bind(64, 100, 8);
    BoundRange& range = *ranges.find(64);
    range.holder = 4;
    range.note_released_by(2);
    EXPECT_EQ(range.holder, 4U);
    range.note_released_by(3);
    EXPECT_EQ(range.holder, 0U);
}

TEST(BoundRangesTest, each_of_many_locks_is_found) {
    BoundRanges ranges;
    for (std::uint64_t i = 1; i <= 100; ++i) ranges.bind(i << 16U, i * 16, 8);
    for (std::uint64_t i = 1; i <= 100; i += 2) ranges.unbind(i << 16U);
    for (std::uint64_t i = 1; i <= 100; ++i) {
        const BoundRange* const range = ranges.find(i << 16U);
        EXPECT_EQ(range != nullptr, i % 2 == 0) << i;
        EXPECT_EQ(range, ranges.find_bound(i << 16U));
        if (range != nullptr) {
            EXPECT_EQ(range->first, i * 16);
        }
    }
}

TEST(BoundRangesTest, a_copy_of_a_range_has_its_bytes_of_the_page_alone) {
    BoundRanges ranges;
    ranges.bind(10, page + 100, 8);
    ranges.bind(20, 2 * page - 8, 16);
    const std::vector<std::byte> from(page, std::byte{1});
    const auto copied = [&](memory::GlobalAddress lock, pages::PageNumber of) {
        std::vector<std::byte> to(page, std::byte{0});
        copy_bound(*ranges.find(lock), of, pages::PageView(from), pages::PageSpan(to));
        std::vector<std::uint64_t> places;
        for (std::uint64_t i = 0; i < page; ++i)
            if (to[i] != std::byte{0}) places.push_back(i);
        return std::pair(places.size(), places.empty() ? page : places.front());
    };
    EXPECT_EQ(copied(10, 1), std::pair(std::size_t{8}, std::uint64_t{100}));
    EXPECT_EQ(copied(20, 1), std::pair(std::size_t{8}, page - 8));
    EXPECT_EQ(copied(20, 2), std::pair(std::size_t{8}, std::uint64_t{0}));
}

TEST(BoundRangesTest, a_range_that_is_no_longer_bound_is_found_no_more) {
    BoundRanges ranges;
    EXPECT_EQ(ranges.find(10), nullptr);
    ranges.bind(10, 100, 8);
    ranges.bind(11, 0, 8);
    EXPECT_EQ(ranges.find(10)->first, 100U);
    EXPECT_EQ(ranges.find(12), nullptr);
    ranges.unbind(12);
    ranges.unbind(10);
    EXPECT_EQ(ranges.find(10), nullptr);
    EXPECT_EQ(locks_in(ranges, {0, 1}), Found{11});
}

}  // namespace
}  // namespace acp::dsm::test
