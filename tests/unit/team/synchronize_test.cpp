// SPDX-License-Identifier: BSD-3-Clause
// A barrier whose deadline passes is resumed by the next call of the same member, at the step where
// it stopped, as often as it takes; other members notice nothing. Members call it one after the
// other, from one thread.
#include <gtest/gtest.h>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "support/scoped_watchdog.hpp"
#include "unit/team/team_node.hpp"

namespace acp::team::test {
namespace {

using base::Code;

class LateBarrierTest : public testing::Test {
protected:
    // Calls of all members, none of which waits, in random order, until each has passed the
    // barrier. Returns the number of calls that were late.
    static int pass_all(TeamNode& node, acp::test::Random& random) {
        std::vector<std::uint32_t> waiting(node.size());
        std::iota(waiting.begin(), waiting.end(), 0);
        std::set<std::uint32_t> come;
        for (int calls = 0; calls < 10'000 && !waiting.empty(); ++calls) {
            const std::size_t which = random.below(waiting.size());
            const std::uint32_t rank = waiting[which];
            come.insert(rank);
            if (has_passed(node, rank, come.size() == node.size()))
                waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(which));
            if (waiting.empty()) return calls + 1 - static_cast<int>(node.size());
        }
        ADD_FAILURE() << waiting.size() << " members do not pass";
        return 0;
    }

    // One call of the member; a call that does not pass is late and can be resumed.
    static bool has_passed(TeamNode& node, std::uint32_t rank, bool have_all_come) {
        const base::Status end = barrier(0)(node.team(rank));
        if (end.is_ok()) {
            EXPECT_TRUE(have_all_come) << "member " << rank << " passed before all had come";
            return true;
        }
        EXPECT_EQ(end.code(), Code::timeout) << end.message();
        EXPECT_TRUE(node.team(rank).is_late());
        EXPECT_TRUE(node.team(rank).pending_sync().is_begun);
        return false;
    }

    acp::test::ScopedWatchdog watchdog_{"a late barrier"};
};

TEST_F(LateBarrierTest, is_resumed_until_all_have_come) {
    const std::vector<std::vector<std::uint32_t>> layouts{
        {0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 1}, {0, 1, 2, 3, 4}, {0, 1, 0, 1, 2, 2, 2}};
    for (const auto& nodes : layouts) {
        TeamNode node(nodes);
        acp::test::Random random(nodes.size());
        int late = 0;
        // More barriers than a board has rounds.
        for (std::uint32_t i = 0; i < 3 * board_depth; ++i) late += pass_all(node, random);
        EXPECT_GT(late, 0);
        node.run_well(barrier());
    }
}

TEST_F(LateBarrierTest, names_a_member_that_has_not_come) {
    struct Row {
        std::vector<std::uint32_t> nodes;
        std::vector<std::uint32_t> come;  // in this order; the last one is late
        std::uint32_t missing;
    };

    const std::vector<Row> rows{
        {{0, 0, 0}, {0}, 1},
        {{0, 0, 0}, {1, 0}, 2},
        {{0, 0, 0}, {2}, 0},
        // The members wait for the release by their leader; the call names the member that the leader
        // lacks.
        {{0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 1, 2, 4, 5, 6, 7, 8}, 3},
        {{0, 0, 0, 0, 0, 0, 0, 0, 0}, {4}, 0},
        {{0, 1}, {0}, 1},
        {{0, 1, 0}, {2, 0}, 1},
    };
    for (const Row& row : rows) {
        TeamNode node(row.nodes);
        for (const std::uint32_t rank : row.come)
            EXPECT_EQ(barrier(0)(node.team(rank)).code(), Code::timeout);
        const auto missing = node.team(row.come.back()).missing_rank();
        ASSERT_TRUE(missing.has_value());
        EXPECT_EQ(*missing, row.missing) << row.nodes.size() << " members";
    }
}

TEST_F(LateBarrierTest, names_that_member_also_where_it_stops_on_a_fiber) {
    TeamNode node({0, 0, 0});
    node.start(0, barrier(0));
    node.finish({0});
    EXPECT_EQ(node.end(0).code(), Code::timeout);
    EXPECT_EQ(node.team(0).missing_rank(), std::optional<std::uint32_t>(1));
}

TEST_F(LateBarrierTest, fails_when_the_team_breaks_meanwhile) {
    TeamNode node({0, 0, 1});
    EXPECT_EQ(barrier(0)(node.team(0)).code(), Code::timeout);
    node.ranks().die(2);
    EXPECT_EQ(barrier(0)(node.team(0)).code(), Code::peer);
    EXPECT_FALSE(node.team(0).is_late());
    EXPECT_FALSE(node.team(0).missing_rank().has_value());
}

TEST_F(LateBarrierTest, of_a_member_alone_is_never_late) {
    TeamNode node({0});
    EXPECT_TRUE(barrier(0)(node.team(0)).is_ok());
}

}  // namespace
}  // namespace acp::team::test
