// SPDX-License-Identifier: BSD-3-Clause
// The sweep over a list finds an overlap exactly where a comparison of all pairs finds one.
#include "api/overlap.hpp"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace acp::api {
namespace {

struct Range {
    ByteExtent target;
    ByteExtent source;
};

std::optional<ListOverlap> sweep(const std::vector<Range>& ranges) {
    ListExtents list;
    for (const Range& range : ranges) list.add(range.target, range.source);
    return list.find();
}

// Whether the reported pair really overlaps.
bool is_true(const std::vector<Range>& ranges, const ListOverlap& found) {
    const Range& second = ranges[found.second];
    return do_overlap(ranges[found.first].target,
                      found.is_with_source ? second.source : second.target);
}

bool has_overlap(const std::vector<Range>& ranges) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        for (std::size_t j = 0; j < ranges.size(); ++j) {
            const bool is_onto_itself = i == j && ranges[i].target == ranges[j].source;
            if (!is_onto_itself && do_overlap(ranges[i].target, ranges[j].source)) return true;
            if (i != j && do_overlap(ranges[i].target, ranges[j].target)) return true;
        }
    }
    return false;
}

TEST(Overlap, ranges_that_touch_do_not_overlap_and_empty_ones_never_do) {
    EXPECT_FALSE(do_overlap({0, 100, 10}, {0, 110, 10}));
    EXPECT_FALSE(do_overlap({0, 110, 10}, {0, 100, 10}));
    EXPECT_TRUE(do_overlap({0, 100, 10}, {0, 109, 10}));
    EXPECT_TRUE(do_overlap({0, 100, 100}, {0, 150, 1}));
    EXPECT_FALSE(do_overlap({0, 100, 10}, {1, 100, 10}));
    EXPECT_FALSE(do_overlap({0, 100, 10}, {0, 105, 0}));
    EXPECT_FALSE(do_overlap({0, 105, 0}, {0, 100, 10}));
}

TEST(Overlap, a_list_may_read_a_byte_twice_and_copy_a_range_onto_itself) {
    EXPECT_EQ(sweep({{{0, 0, 8}, {0, 100, 8}}, {{0, 8, 8}, {0, 104, 8}}, {{0, 16, 8}, {0, 16, 8}}}),
              std::nullopt);
}

TEST(Overlap, a_long_range_is_seen_behind_a_short_one_that_begins_later) {
    const std::vector<Range> ranges{
        {{0, 0, 100}, {1, 0, 100}}, {{2, 0, 4}, {0, 200, 4}}, {{0, 90, 4}, {1, 500, 4}}};
    EXPECT_EQ(sweep(ranges), (ListOverlap{0, 2, false}));
}

TEST(Overlap, a_range_that_overlaps_itself_is_reported_as_such) {
    EXPECT_EQ(sweep({{{0, 8, 64}, {0, 0, 64}}}), (ListOverlap{0, 0, true}));
}

TEST(Overlap, a_list_that_was_cleared_is_empty) {
    ListExtents list;
    list.add({0, 0, 8}, {0, 4, 8});
    list.clear();
    EXPECT_EQ(list.size(), 0U);
    EXPECT_EQ(list.find(), std::nullopt);
}

TEST(Overlap, random_lists_agree_with_comparing_all_pairs) {
    std::mt19937_64 random(20'12);  // NOLINT(cert-msc51-cpp): the same lists each time
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    int with = 0;
    int without = 0;
    for (int round = 0; round < 20000; ++round) {
        std::vector<Range> ranges;
        for (std::uint64_t i = 1 + below(5); i > 0; --i) {
            const std::uint64_t bytes = below(12);
            const ByteExtent target{below(3), below(100), bytes};
            const bool is_onto_itself = below(8) == 0;
            ranges.push_back(
                {target, is_onto_itself ? target : ByteExtent{below(3), below(100), bytes}});
        }
        const auto found = sweep(ranges);
        ASSERT_EQ(found.has_value(), has_overlap(ranges)) << "round " << round;
        if (found) {
            ASSERT_TRUE(is_true(ranges, *found)) << "round " << round;
        }
        ++(found ? with : without);
    }
    EXPECT_GT(with, 1000);
    EXPECT_GT(without, 1000);
}

}  // namespace
}  // namespace acp::api
