// SPDX-License-Identifier: BSD-3-Clause
// A thread that waits for a member and compares that member's call, as other processes of its node
// see it.
#include "team/meeting_watch.hpp"

#include <gtest/gtest.h>

#include "node/awaited.hpp"

#include "support/rank_node.hpp"
#include "support/watchdog.hpp"

namespace acp::team::test {
namespace {

class FlagCondition final : public gma::Condition {
public:
    gma::LookResult look() override {
        return is_set ? gma::LookResult::all : gma::LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        const memory::Command none{};
        entry.tell(node::WaitFor::member, since_ns, &none);
    }

    bool is_set = false;
};

// The watch asks for the awaited process between two sleeps of the thread.
TEST(MeetingWatchTest, a_wait_is_shown_since_its_beginning_also_between_two_sleeps) {
    acp::test::arm_watchdog(60, "unit_team");
    acp::test::RankNode node(2);
    FlagCondition condition;
    MeetingWatch watch(*node[1].gma);
    node::Doing first;
    node::Doing second;
    int pauses = 0;
    const std::string call = watch.wait(condition, [&] {
        (pauses++ == 0 ? first : second) = node::look_at(node.segment(), 1, os::now_ns());
        condition.is_set = pauses == 2;
        return std::uint32_t{0};
    });
    EXPECT_EQ(call, "");
    EXPECT_EQ(pauses, 2);
    EXPECT_EQ(first.what, node::WaitFor::member);
    EXPECT_EQ(second.what, node::WaitFor::member);
    EXPECT_GT(second.waited_ns, first.waited_ns);
    EXPECT_EQ(node::look_at(node.segment(), 1, os::now_ns()).what, node::WaitFor::nothing);
    acp::test::arm_watchdog(0, "");
}

}  // namespace
}  // namespace acp::team::test
