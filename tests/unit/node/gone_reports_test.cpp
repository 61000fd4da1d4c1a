// SPDX-License-Identifier: BSD-3-Clause
// Which ends of processes are reported, on segments whose processes are marked as gone.
#include "node/gone_reports.hpp"

#include <gtest/gtest.h>

#include "node/death.hpp"

#include "unit/node/test_nodes.hpp"

namespace acp::node {
namespace {

TEST(GoneReportsTest, finds_each_process_that_is_gone_until_it_is_noted) {
    const std::vector<Segment> segments = test::make_nodes({2, 3, 2});
    const Segment& here = segments[0];
    GoneReports reports(here);
    EXPECT_FALSE(reports.find_new()) << "none is gone";
    EXPECT_FALSE(reports.is_reserved());
    ASSERT_TRUE(note_lost_process(here, 3, {9}));
    mark_dead(here, 1, 9);
    EXPECT_EQ(reports.find_new(), 1U);
    EXPECT_EQ(reports.find_new(2), 3U);
    EXPECT_EQ(reports.find_new(4), std::nullopt);
    reports.reserve();
    EXPECT_TRUE(reports.is_reserved());
    EXPECT_EQ(reports.count(), 0U);
    reports.note(1);
    EXPECT_TRUE(reports.has(1));
    EXPECT_FALSE(reports.has(3));
    EXPECT_FALSE(reports.has(7)) << "one past the last";
    EXPECT_EQ(reports.find_new(), 3U);
    reports.note(3);
    EXPECT_FALSE(reports.find_new());
    EXPECT_EQ(reports.count(), 2U);
    ASSERT_TRUE(note_lost_node(here, 2, {NodeFate::unreachable}));
    EXPECT_EQ(reports.find_new(), 5U);
    EXPECT_EQ(reports.find_new(6), 6U);
}

TEST(GoneReportsTest, keep_what_was_noted_when_memory_is_reserved_again) {
    const std::vector<Segment> segments = test::make_nodes({2});
    mark_dead(segments[0], 0, 9);
    GoneReports reports(segments[0]);
    reports.reserve();
    reports.note(0);
    reports.reserve();
    EXPECT_TRUE(reports.has(0));
    EXPECT_FALSE(reports.find_new());
}

}  // namespace
}  // namespace acp::node
