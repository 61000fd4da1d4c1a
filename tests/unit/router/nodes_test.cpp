// SPDX-License-Identifier: BSD-3-Clause
// Where processes and addresses are, and who is lost.
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

}  // namespace
}  // namespace acp::router::test
