// SPDX-License-Identifier: BSD-3-Clause
// Barriers whose meetings the gateway of the same process carries: the test is that gateway.
#include "node/own_meetings.hpp"

#include <chrono>
#include <thread>

#include "node/death.hpp"
#include "node/gateway_port.hpp"
#include "node/member.hpp"

#include "support/watchdog.hpp"
#include "unit/node/test_nodes.hpp"

namespace acp::node {
namespace {

std::string_view name_of_call(std::uint32_t call) {
    return call == OwnMeetings::no_call ? "acp_none" : "acp_seventh";
}

class OwnMeetingsTest : public testing::Test {
protected:
    OwnMeetingsTest() {
        acp::test::arm_watchdog(60, "a test of own meetings");
        EXPECT_TRUE(member_.take_slot().is_ok());
        member_.barrier().set_own_meetings(&meetings_);
    }

    ~OwnMeetingsTest() override { acp::test::arm_watchdog(0, ""); }

    // Starts a meeting in a thread of its own, and takes it.
    void begin() {
        thread_ = std::thread([this] { status_ = member_.synchronize(); });
        while (!(brought_ = meetings_.take())) std::this_thread::yield();
    }

    base::Status end() {
        thread_.join();
        return std::move(status_);
    }

    std::vector<Segment> segments_ = test::make_nodes({1, 1});
    Member member_{segments_[0].share(), 0};
    OwnMeetings meetings_{segments_[0], name_of_call};
    std::optional<OwnMeetings::Words> brought_;
    std::thread thread_;
    base::Status status_;
};

TEST_F(OwnMeetingsTest, a_meeting_is_given_once_and_its_end_releases_the_barrier) {
    for (int i = 0; i < 100; ++i) {
        begin();
        EXPECT_FALSE(meetings_.take().has_value()) << "given once";
        meetings_.finish(*brought_);
        EXPECT_TRUE(end().is_ok());
    }
    GatewayPort agent(segments_[0]);
    EXPECT_FALSE(agent.take_meeting().has_value()) << "the agent takes part in no meeting";
}

// Ends each meeting in the poll that takes it, as if all others had arrived before.
class Ending final : public Helper {
public:
    explicit Ending(OwnMeetings& meetings) : meetings_(meetings) {}

    void enter() override {}

    bool poll() override {
        ++polls_;
        const auto brought = meetings_.take();
        if (!brought) return false;
        meetings_.finish(*brought);
        return true;
    }

    std::int64_t rest() override {
        ++rests_;
        return node::for_ever;
    }

    void leave() override {}

    [[nodiscard]] std::uint32_t polls() const { return polls_; }

    [[nodiscard]] std::uint32_t rests() const { return rests_; }

private:
    OwnMeetings& meetings_;
    std::uint32_t polls_ = 0;
    std::uint32_t rests_ = 0;
};

TEST_F(OwnMeetingsTest, one_poll_sends_this_nodes_part_and_none_follows_the_end) {
    Ending helper(meetings_);
    member_.barrier().set_helper(&helper);
    for (std::uint32_t meetings = 1; meetings <= 100; ++meetings) {
        EXPECT_TRUE(member_.synchronize().is_ok());
        EXPECT_EQ(helper.polls(), meetings);
    }
    EXPECT_EQ(helper.rests(), 0U);
}

TEST_F(OwnMeetingsTest, ranks_that_make_different_calls_fail) {
    begin();
    OwnMeetings other(segments_[1], name_of_call);
    other.ask(1, 7);
    const auto of_other = other.take();
    ASSERT_TRUE(of_other.has_value());
    OwnMeetings::Words least{};
    for (std::size_t i = 0; i < least.size(); ++i) {
        least[i] = std::min((*brought_)[i], (*of_other)[i]);
    }
    meetings_.finish(least);
    const auto status = end();
    EXPECT_EQ(status.code(), base::Code::state);
    EXPECT_NE(status.message().find("some ranks have called acp_none and some acp_seventh"),
              std::string::npos)
        << status.message();
    begin();  // The next meeting may begin.
    meetings_.finish(*brought_);
    EXPECT_TRUE(end().is_ok());
}

TEST_F(OwnMeetingsTest, a_lost_node_ends_this_meeting_and_all_later_ones) {
    begin();
    meetings_.fail(1, {NodeFate::silent});
    const auto status = end();
    EXPECT_EQ(status.code(), base::Code::peer);
    EXPECT_NE(status.message().find("has not answered for the 10 s of ACP_PEER_TIMEOUT"),
              std::string::npos)
        << status.message();
    EXPECT_EQ(member_.synchronize().code(), base::Code::peer);
}

TEST_F(OwnMeetingsTest, the_rail_that_lost_a_node_is_reported) {
    begin();
    meetings_.fail(1, {NodeFate::silent, 0});
    const auto status = end();
    EXPECT_NE(
        status.message().find("has not answered for the 10 s of ACP_PEER_TIMEOUT on rail 0 ("),
        std::string::npos)
        << status.message();
}

TEST_F(OwnMeetingsTest, a_slightly_later_report_of_the_agent_is_the_reason) {
    begin();
    meetings_.fail(1, {NodeFate::told});
    GatewayPort(segments_[0]).publish_death(1, {9});
    const auto status = end();
    EXPECT_EQ(status.code(), base::Code::peer);
    EXPECT_NE(status.message().find("was killed by signal 9"), std::string::npos)
        << status.message();
}

TEST_F(OwnMeetingsTest, a_death_ends_the_wait) {
    begin();
    GatewayPort(segments_[0]).publish_death(1, {9});
    EXPECT_EQ(end().code(), base::Code::peer);
}

TEST_F(OwnMeetingsTest, a_death_reported_before_the_end_of_an_earlier_meeting_does_not_fail_it) {
    begin();
    GatewayPort(segments_[0]).publish_death(1, {9});
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // lint: sleep is the subject
    meetings_.finish(*brought_);
    EXPECT_TRUE(end().is_ok());
    EXPECT_EQ(member_.synchronize().code(), base::Code::peer) << "the next one fails";
}

TEST_F(OwnMeetingsTest, the_call_that_ends_an_epoch_is_continued_by_the_agents) {
    const test::Gateways agents(segments_);
    thread_ = std::thread([this] { status_ = member_.end_own_meetings(); });
    while (!(brought_ = meetings_.take())) std::this_thread::yield();
    meetings_.finish(*brought_);
    EXPECT_TRUE(end().is_ok());
    EXPECT_FALSE(member_.barrier().has_own_meetings());
    Member other(segments_[1].share(), 0);
    ASSERT_TRUE(other.take_slot().is_ok());
    thread_ = std::thread([this] { status_ = member_.synchronize(); });
    EXPECT_TRUE(other.synchronize().is_ok());
    EXPECT_TRUE(end().is_ok());
    EXPECT_TRUE(member_.end_own_meetings().is_ok()) << "there are none";
}

}  // namespace
}  // namespace acp::node
