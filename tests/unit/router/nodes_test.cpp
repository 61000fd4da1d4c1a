// SPDX-License-Identifier: BSD-3-Clause
// The nodes of processes and addresses, and the record of losses.
#include "router/nodes.hpp"

#include <gtest/gtest.h>

#include "unit/router/lower_parts.hpp"

namespace acp::router::test {
namespace {

TEST(NodesTest, knows_its_own_processes_and_the_nodes_of_the_others) {
    LowerParts parts;
    EXPECT_TRUE(parts.nodes.is_mine(0));
    EXPECT_TRUE(parts.nodes.is_mine(1));
    EXPECT_FALSE(parts.nodes.is_mine(2));
    EXPECT_FALSE(parts.nodes.is_mine(~0ULL));
    EXPECT_EQ(parts.nodes.peer_of(3).node, 1U);
    EXPECT_EQ(parts.nodes.peer_of(4).node, 2U);
    EXPECT_EQ(parts.nodes.where(parts.address(3)), 3U);
    EXPECT_EQ(parts.nodes.named(5), 0U);
}

TEST(NodesTest, keeps_the_record_of_a_node_where_it_is) {
    LowerParts parts;
    RouterPeer& first = parts.nodes.peer(2);
    (void)parts.nodes.peer(0);
    (void)parts.nodes.peer(1);
    EXPECT_EQ(&parts.nodes.peer(2), &first);
    EXPECT_EQ(parts.nodes.met().size(), 3U);
}

TEST(NodesTest, notes_each_loss_once) {
    LowerParts parts;
    EXPECT_FALSE(parts.nodes.is_any_lost());
    EXPECT_TRUE(parts.nodes.note_dead(3));
    EXPECT_FALSE(parts.nodes.note_dead(3));
    EXPECT_TRUE(parts.nodes.is_any_lost());
    EXPECT_TRUE(parts.nodes.is_gone(3));
    EXPECT_FALSE(parts.nodes.is_gone(2));
    EXPECT_TRUE(parts.nodes.note_severed(1));
    EXPECT_FALSE(parts.nodes.note_severed(1));
    EXPECT_TRUE(parts.nodes.is_gone(2));
    EXPECT_FALSE(parts.nodes.is_dead(2));
}

TEST(NodesTest, asks_once_that_a_node_be_severed) {
    LowerParts parts;
    parts.nodes.sever_later(1);
    parts.nodes.sever_later(1);
    ASSERT_TRUE(parts.nodes.has_to_sever());
    EXPECT_EQ(parts.nodes.take_to_sever(), 1U);
    EXPECT_FALSE(parts.nodes.has_to_sever());
    (void)parts.nodes.note_severed(1);
    parts.nodes.sever_later(1);
    EXPECT_FALSE(parts.nodes.has_to_sever());
}

RouterSettings with_rails(std::uint32_t rails) {
    RouterSettings settings = small_settings();
    settings.rails = rails;
    return settings;
}

TEST(NodesTest, the_colour_of_the_target_chooses_the_lane_or_that_of_the_source) {
    LowerParts parts(true, with_rails(3));
    RouterPeer& node = parts.nodes.peer(2);
    const auto lane = [&](std::uint32_t target, std::uint32_t source) {
        return parts.nodes
            .lane_to(node, parts.layout.colored(parts.address(4), target),
                     parts.layout.colored(parts.address(0), source))
            .lane;
    };
    EXPECT_EQ(lane(0, 0), 2U);
    EXPECT_EQ(lane(1, 0), 5U);
    EXPECT_EQ(lane(1, 2), 5U);
    EXPECT_EQ(lane(0, 2), 8U);
    EXPECT_EQ(lane(3, 0), 2U) << "with three rails, colour 3 goes where colour 0 does";
    EXPECT_EQ(&parts.nodes.lane(2), &node);
    EXPECT_EQ(parts.nodes.lane(8).node, 2U);
    EXPECT_TRUE(parts.nodes.lane(8).has(4));
}

TEST(NodesTest, one_rail_has_one_lane_to_each_node_whatever_the_colour) {
    LowerParts parts;
    RouterPeer& node = parts.nodes.peer(2);
    EXPECT_EQ(&parts.nodes.lane_to(node, parts.layout.colored(parts.address(4), 3), 0), &node);
}

TEST(NodesTest, a_severed_node_is_severed_on_lanes_made_before_and_after) {
    LowerParts parts(true, with_rails(4));
    RouterPeer& before = parts.nodes.lane(3 + 1);
    EXPECT_FALSE(before.is_severed);
    EXPECT_TRUE(parts.nodes.note_severed(1));
    EXPECT_FALSE(parts.nodes.note_severed(1));
    EXPECT_TRUE(before.is_severed);
    EXPECT_TRUE(parts.nodes.lane(6 + 1).is_severed);
    EXPECT_FALSE(parts.nodes.lane(6 + 2).is_severed);
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
