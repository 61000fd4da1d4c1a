// SPDX-License-Identifier: BSD-3-Clause
// The barriers that carry notices: of all members, and of the leaders of the nodes. A notice of any
// allowed length reaches all; a length beyond that, from a member that is no such library, breaks
// the team with a mismatch on all members, and reserves no memory for it.
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "team/collectives.hpp"
#include "team/notice_gather.hpp"

#include "support/scoped_watchdog.hpp"
#include "unit/team/team_node.hpp"

namespace acp::team::test {
namespace {

using base::Code;

using MemberHead = NoticeHead<BoardLine::inline_bytes_max>;
using LeaderHead = NoticeHead<FarMessage::packed_bytes_max>;

const Signature notices_call{CollectiveCall::sync_notices, 0};
const Signature leaders_call{CollectiveCall::barrier_pages, 0};

struct Layout {
    const char* name;
    std::vector<std::uint32_t> nodes;
};

const std::vector<Layout> layouts{
    {"alone", {0}},
    {"a_node", {0, 0, 0}},
    {"two_nodes_of_one", {0, 1}},
    {"mixed_nodes", {2, 1, 2, 1, 0, 1}},
    {"as_many_nodes_as_exchange_all_with_all", {0, 1, 2, 3, 4, 5, 6, 7}},
    {"one_node_more", {0, 1, 2, 3, 4, 5, 6, 7, 8}},
    {"a_power_of_two", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 3, 15}},
    {"many_nodes", {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 10}},
};

std::string notice_of(std::uint32_t number, std::uint64_t bytes) {
    std::string text(bytes, '\0');
    for (std::uint64_t i = 0; i < bytes; ++i)
        text[i] = static_cast<char>('a' + (number * 7 + i * 3 + i / 26) % 26);
    return text;
}

// What a node's leader and its members have seen of a meeting.
struct NodeMeeting {
    std::uint32_t arrived = 0;
    std::uint32_t noticed = 0;
    std::uint32_t settled = 0;
};

// The meeting as one member takes part in it.
class Meeting final : public LeaderMeeting {
public:
    Meeting(const Membership& members, NodeMeeting& node, std::vector<std::string> expected)
        : members_(members), node_(node), expected_(std::move(expected)) {}

    [[nodiscard]] std::uint64_t bytes_max() const noexcept override {
        std::uint64_t longest = 0;
        for (const std::string& notice : expected_)
            longest = std::max<std::uint64_t>(longest, notice.size());
        return longest;
    }

    std::span<const char> notice() override {
        EXPECT_TRUE(members_.is_leader());
        EXPECT_EQ(node_.arrived, members_.near().size()) << "a member of the node is missing";
        EXPECT_EQ(node_.noticed++, 0U);
        return expected_[members_.own_node()];
    }

    void settle(std::span<const std::span<const char>> notices) override {
        EXPECT_EQ(node_.settled++, 0U);
        EXPECT_EQ(notices.size(), expected_.size());
        for (std::size_t node = 0; node < notices.size(); ++node) {
            EXPECT_EQ(std::string(notices[node].begin(), notices[node].end()), expected_[node])
                << "of node " << node << " on node " << members_.own_node();
        }
    }

private:
    const Membership& members_;
    NodeMeeting& node_;
    std::vector<std::string> expected_;
};

class NoticesTest : public testing::TestWithParam<Layout> {
protected:
    // A meeting in which node n has a notice of bytes[n modulo their number].
    void meet(const std::vector<std::uint64_t>& bytes) {
        const std::uint32_t nodes = node_.team(0).members().nodes();
        std::vector<std::string> notices;
        for (std::uint32_t node = 0; node < nodes; ++node)
            notices.push_back(notice_of(node, bytes[node % bytes.size()]));
        std::vector<NodeMeeting> seen(nodes);
        node_.run_well(call(leaders_call, [&](Team& team) {
            NodeMeeting& node = seen[team.members().own_node()];
            Meeting meeting(team.members(), node, notices);
            ++node.arrived;
            const bool is_whole = synchronize_with_leaders(team, meeting);
            for (const NodeMeeting& other : seen)
                EXPECT_EQ(other.noticed, 1U) << "a member has left before all nodes had met";
            EXPECT_EQ(node.settled, 1U) << "a member has left before its leader had settled";
            return is_whole;
        }));
    }

    acp::test::ScopedWatchdog watchdog_{"a barrier with notices"};
    TeamNode node_{GetParam().nodes};
    std::uint32_t size_ = node_.size();
};

TEST_P(NoticesTest, the_notice_of_each_node_reaches_the_leaders_of_all) {
    constexpr std::uint64_t head = LeaderHead::text_bytes;
    meet({0});
    meet({1});
    meet({head});
    meet({head + 1});
    meet({head, 0, head + 1});
    // Nodes without a notice beside those with long ones: the ranges of a gather differ in length.
    meet({0, 100'000, 0, 3, head - 1});
    meet({300'000, 0});
}

TEST_P(NoticesTest, meetings_follow_each_other_and_other_calls) {
    for (std::uint64_t i = 0; i < 3 * board_depth; ++i) {
        meet({i * 131, 0, i});
        if (HasFatalFailure()) return;
        if (i % 3 == 0) node_.run_well(barrier());
    }
}

TEST_P(NoticesTest, a_notice_of_a_member_beyond_the_longest_breaks_the_team_everywhere) {
    constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    for (const std::uint64_t bytes : {notice_bytes_max + 1, std::uint64_t{1} << 40, all}) {
        if (size_ == 1) return;
        TeamNode node(GetParam().nodes);
        const std::uint32_t liar = size_ - 1;
        node.run(call(notices_call, [&](Team& team) {
            const std::uint32_t own = team.members().own();
            if (own == liar) {
                std::vector<MemberHead> heads(size_);
                heads[own].bytes = bytes;
                auto* const parts = reinterpret_cast<char*>(heads.data());
                return all_gather(team, parts + own * sizeof(MemberHead), parts,
                                  sizeof(MemberHead)) &&
                       synchronize(team);
            }
            std::vector<char> notices(size_ * notice_bytes_max, '.');
            std::vector<std::size_t> sizes(size_, 77);
            EXPECT_FALSE(synchronize_with_notices(team, {}, notices.data(), sizes.data()));
            EXPECT_EQ(notices, std::vector<char>(size_ * notice_bytes_max, '.'));
            EXPECT_EQ(sizes, std::vector<std::size_t>(size_, 77));
            return false;
        }));
        for (std::uint32_t rank = 0; rank < size_; ++rank) {
            EXPECT_EQ(node.end(rank).code(), Code::mismatch) << rank << ": " << node.words(rank);
            for (const std::string& part :
                 {"member " + std::to_string(liar),
                  "a notice of " + std::to_string(bytes) + " bytes", std::string("at most 1024"),
                  std::string("sync_team_notices, and")})
                EXPECT_NE(node.words(rank).find(part), std::string::npos) << node.words(rank);
        }
    }
}

TEST_P(NoticesTest, a_notice_of_a_node_beyond_the_longest_breaks_the_team_everywhere) {
    const std::uint32_t nodes = node_.team(0).members().nodes();
    if (nodes == 1) return;
    constexpr std::uint64_t bytes_max = 2000;

    // A leader whose library allows longer notices.
    class Longer final : public LeaderMeeting {
    public:
        explicit Longer(std::uint64_t bytes) : text_(bytes, 'x') {}

        [[nodiscard]] std::uint64_t bytes_max() const noexcept override {
            return std::max<std::uint64_t>(text_.size(), 2000);
        }

        std::span<const char> notice() override { return text_; }

        void settle(std::span<const std::span<const char>> /*notices*/) override {
            ADD_FAILURE() << "a meeting with a notice that is too long";
        }

    private:
        std::vector<char> text_;
    };

    for (const std::uint64_t bytes : {bytes_max + 1, std::uint64_t{1} << 20}) {
        TeamNode node(GetParam().nodes);
        const std::uint32_t liar = nodes - 1;
        node.run(call(leaders_call, [&](Team& team) {
            Longer meeting(team.members().own_node() == liar ? bytes : 10);
            return synchronize_with_leaders(team, meeting);
        }));
        for (std::uint32_t rank = 0; rank < size_; ++rank) {
            EXPECT_EQ(node.end(rank).code(), Code::mismatch) << rank << ": " << node.words(rank);
            EXPECT_NE(node.words(rank).find("a notice of " + std::to_string(bytes) +
                                            " bytes, where at most 2000 are possible"),
                      std::string::npos)
                << node.words(rank);
        }
    }
}

std::string name_of(const testing::TestParamInfo<Layout>& layout) {
    return layout.param.name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, NoticesTest, testing::ValuesIn(layouts), name_of);

// A leader whose messages are not those of this library: the length is any word.
TEST(LeaderNoticeTest, with_a_length_that_no_memory_has_breaks_the_team) {
    const acp::test::ScopedWatchdog watchdog("a length that no memory has");
    for (const std::uint64_t bytes :
         {std::uint64_t{1}, std::uint64_t{1} << 33, std::uint64_t{1} << 63,
          std::numeric_limits<std::uint64_t>::max() - 7,
          std::numeric_limits<std::uint64_t>::max()}) {
        TeamNode node({0, 0, 1});

        class Silent final : public LeaderMeeting {
        public:
            [[nodiscard]] std::uint64_t bytes_max() const noexcept override { return 0; }

            std::span<const char> notice() override { return {}; }

            void settle(std::span<const std::span<const char>> /*notices*/) override {
                ADD_FAILURE() << "a meeting with a wrong length";
            }
        };

        node.run(call(leaders_call, [&](Team& team) {
            Silent meeting;
            if (team.members().own() != 2) return synchronize_with_leaders(team, meeting);
            LeaderHead sent, received;
            sent.bytes = bytes;
            std::vector<FarMessage> messages(2);
            return team.begin_send(messages[0], 0, &sent, sizeof sent) &&
                   team.begin_receive(messages[1], 0, &received, sizeof received) &&
                   team.settle(messages) && synchronize(team);
        }));
        for (std::uint32_t rank = 0; rank < 3; ++rank) {
            EXPECT_EQ(node.end(rank).code(), Code::mismatch) << node.words(rank);
            EXPECT_NE(node.words(rank).find("member 2 (rank 2) has announced a notice of " +
                                            std::to_string(bytes) + " bytes"),
                      std::string::npos)
                << node.words(rank);
        }
    }
}

}  // namespace
}  // namespace acp::team::test
