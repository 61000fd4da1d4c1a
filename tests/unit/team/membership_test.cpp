// SPDX-License-Identifier: BSD-3-Clause
// Members by node, whatever their order.
#include "team/membership.hpp"

#include <array>
#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace acp::team {
namespace {

TEST(Membership, the_numbers_of_teams_and_of_those_made_of_them_differ) {
    std::set<std::uint64_t> numbers{1};  // the team of all ranks
    std::vector<std::uint64_t> parents{1};
    for (int generation = 0; generation < 3; ++generation) {
        std::vector<std::uint64_t> children;
        for (const std::uint64_t parent : parents) {
            for (std::uint64_t n = 1; n <= 24; ++n) children.push_back(number_of_child(parent, n));
        }
        for (const std::uint64_t child : children) {
            ASSERT_LT(child, std::uint64_t{1} << 63);
            ASSERT_TRUE(numbers.insert(child).second) << child;
        }
        parents = children;
    }
}

TEST(Membership, sorts_members_of_mixed_nodes_by_node) {
    const std::array<TeamMember, 5> list{{{7, 3}, {2, 0}, {8, 3}, {1, 0}, {4, 1}}};
    const Membership members(list, 3);
    EXPECT_EQ(members.size(), 5U);
    EXPECT_EQ(members.own(), 3U);
    EXPECT_EQ(members.nodes(), 3U);
    EXPECT_EQ(members.node_of(0), 0U);
    EXPECT_EQ(members.node_of(1), 1U);
    EXPECT_EQ(members.node_of(2), 0U);
    EXPECT_EQ(members.own_node(), 1U);
    EXPECT_EQ(members.leader(0), 0U);
    EXPECT_EQ(members.leader(1), 1U);
    EXPECT_EQ(members.leader(2), 4U);
    ASSERT_EQ(members.near().size(), 2U);
    EXPECT_EQ(members.near()[0], 1U);
    EXPECT_EQ(members.near()[1], 3U);
    EXPECT_EQ(members.own_place(), 1U);
    EXPECT_EQ(members.place_of(2), 1U);
    EXPECT_FALSE(members.is_leader());
    EXPECT_EQ(members.process(2), 8U);
    EXPECT_EQ(members.rank_of(4), 4U);
    EXPECT_FALSE(members.rank_of(5).has_value());
}

TEST(Membership, one_member_leads_its_node) {
    const std::array<TeamMember, 1> list{{{5, 2}}};
    const Membership members(list, 0);
    EXPECT_EQ(members.nodes(), 1U);
    EXPECT_TRUE(members.is_leader());
    EXPECT_EQ(members.near().size(), 1U);
}

}  // namespace
}  // namespace acp::team
