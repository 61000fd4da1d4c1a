// SPDX-License-Identifier: BSD-3-Clause
// Calls that do not block, on one team: they run in the order of their requests, each stops where
// it would wait, and all of them fail with the team. Messages of such calls between two members.
#include "team/call_queue.hpp"

#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

#include "support/scoped_watchdog.hpp"
#include "unit/team/team_node.hpp"

namespace acp::team::test {
namespace {

using base::Code;
using base::Status;

class CallQueueTest : public testing::Test {
protected:
    acp::test::ScopedWatchdog watchdog_{"a call that does not block"};
};

TEST_F(CallQueueTest, a_call_that_need_not_wait_ends_with_its_request) {
    TeamNode node({0});
    node.start(0, barrier());
    EXPECT_TRUE(node.has_ended(0));
    EXPECT_TRUE(node.end(0).is_ok());
    node.start(0, [](Team&) { return Status(Code::limit, "its own result"); });
    EXPECT_EQ(node.end(0).code(), Code::limit);
    EXPECT_EQ(node.words(0), "its own result");
}

TEST_F(CallQueueTest, calls_run_in_the_order_of_their_requests) {
    TeamNode node({0, 0});
    std::string order;
    for (const char name : {'a', 'b', 'c'}) {
        node.start(0, [&order, name](Team& team) {
            order += name;
            return barrier()(team);
        });
    }
    EXPECT_EQ(order, "a") << "a call began before the one before it had ended";
    for (const char* const expected : {"ab", "abc", "abc"}) {
        node.start(1, barrier());
        node.finish({1});
        node.pass();
        EXPECT_EQ(order, expected);
    }
    EXPECT_TRUE(node.has_ended(0));
}

TEST_F(CallQueueTest, takes_as_many_calls_as_the_limit_says) {
    TeamNode node({0, 0});
    CallQueue queue;
    std::vector<std::unique_ptr<TeamRequest>> requests;
    for (std::size_t i = 0; i <= calls_under_way_max; ++i) {
        requests.push_back(std::make_unique<TeamRequest>());
        requests.back()->make_call = [](Team&) { return Status(); };
        const Status added = queue.add(*requests.back());
        EXPECT_EQ(added.code(), i < calls_under_way_max ? Code::ok : Code::limit) << i;
    }
    EXPECT_TRUE(queue.go_on(node.team(0), false));
    EXPECT_TRUE(queue.is_empty());
    EXPECT_FALSE(queue.go_on(node.team(0), false)) << "nothing has ended";
    EXPECT_FALSE(requests.back()->is_done.load()) << "the refused request was run";
    requests.pop_back();
    for (const auto& request : requests) ASSERT_TRUE(request->is_done.load());
    // There is room again.
    requests.front()->make_call = [](Team&) { return Status(); };
    EXPECT_TRUE(queue.add(*requests.front()).is_ok());
    EXPECT_TRUE(queue.go_on(node.team(0), false));
}

TEST_F(CallQueueTest, a_death_ends_all_calls_in_flight) {
    TeamNode node({0, 0, 1});
    for (const std::uint32_t rank : {0U, 1U}) {
        for (int i = 0; i < 5; ++i) node.start(rank, barrier());
    }
    node.ranks().die(2);
    node.finish({0, 1});
    for (const std::uint32_t rank : {0U, 1U}) EXPECT_EQ(node.end(rank).code(), Code::peer);
}

TEST_F(CallQueueTest, a_stopped_call_fails_by_its_deadline_and_the_thread_waits_again_after_it) {
    TeamNode node({0, 0});
    node.start(0, barrier(0));
    node.finish({0});
    EXPECT_EQ(node.end(0).code(), Code::timeout);
    // The fiber is not used by calls that block.
    EXPECT_EQ(barrier(0)(node.team(0)).code(), Code::timeout);
    EXPECT_TRUE(barrier()(node.team(1)).is_ok());
    EXPECT_TRUE(barrier()(node.team(0)).is_ok());
}

TEST_F(CallQueueTest, the_process_s_slot_says_whether_a_fiber_runs) {
    TeamNode node({0, 0});
    const auto& word = node.ranks().segment().slot(0).runs_on_fiber;
    std::vector<std::uint32_t> seen;
    node.start(0, [&](Team& team) {
        seen.push_back(word.load());
        return barrier()(team);
    });
    seen.push_back(word.load());
    EXPECT_EQ(seen, (std::vector<std::uint32_t>{1, 0}));
}

// --- Messages between two members ---

// The bytes of a message.
std::vector<char> message_of(std::uint64_t bytes) {
    std::vector<char> made(bytes);
    std::iota(made.begin(), made.end(), static_cast<char>(bytes));
    return made;
}

const Signature signature(CollectiveCall::gather, 8);

Part send(std::uint32_t to, const std::vector<char>& source, const Signature& its = signature) {
    return call(signature, [&source, to, its](Team& team) {
        std::vector<FarMessage> one(1);
        return team.begin_send(one[0], to, source.data(), source.size(), its) && team.settle(one);
    });
}

Part receive(std::uint32_t from, std::vector<char>& target, const Signature& its = signature) {
    return call(signature, [&target, from, its](Team& team) {
        std::vector<FarMessage> one(1);
        return team.begin_receive(one[0], from, target.data(), target.size(), its) &&
               team.settle(one);
    });
}

TEST_F(CallQueueTest, messages_of_all_lengths_arrive_whole_and_in_order) {
    for (const std::vector<std::uint32_t>& nodes :
         {std::vector<std::uint32_t>{0, 0}, std::vector<std::uint32_t>{0, 1}}) {
        TeamNode node(nodes);
        for (const std::uint64_t bytes :
             {std::uint64_t{0}, std::uint64_t{1}, FarMessage::packed_bytes_max - 1,
              FarMessage::packed_bytes_max, FarMessage::packed_bytes_max + 1,
              std::uint64_t{300'000}}) {
            const std::vector<char> first = message_of(bytes);
            const std::vector<char> second(bytes, 'z');
            std::vector<char> target(bytes);
            std::vector<char> behind(bytes);
            node.start(1, send(0, first));
            node.start(1, send(0, second));
            node.start(0, receive(1, target));
            node.start(0, receive(1, behind));
            node.finish({0, 1});
            EXPECT_TRUE(node.end(0).is_ok()) << node.words(0);
            EXPECT_TRUE(node.end(1).is_ok()) << node.words(1);
            EXPECT_TRUE(target == first) << bytes;
            EXPECT_TRUE(behind == second) << bytes;
        }
    }
}

TEST_F(CallQueueTest, a_message_of_another_call_fails_the_call_of_both_members) {
    struct Row {
        std::uint64_t sent = 0;
        std::uint64_t expected = 0;
        Signature its;
    };

    const Signature other(CollectiveCall::gather, 9);
    for (const Row& row :
         {Row{8, 8, other}, Row{900, 8, other}, Row{8, 900, other}, Row{5000, 8, other},
          Row{8, 5000, other}, Row{5000, 5000, other}, Row{900, 8, signature}}) {
        TeamNode node({0, 1});
        const std::vector<char> source(row.sent, 'b');
        std::vector<char> target(row.expected, 'a');
        node.start(1, send(0, source, row.its));
        node.start(0, receive(1, target));
        node.finish({0});
        EXPECT_EQ(node.end(0).code(), Code::mismatch) << row.sent << " for " << row.expected;
        EXPECT_NE(node.words(0).find("of " + std::to_string(row.its.bytes) + " bytes"),
                  std::string::npos)
            << node.words(0);
        // Only a long message may be on its way into the buffer when the signatures are compared.
        if (row.expected <= FarMessage::packed_bytes_max) {
            EXPECT_EQ(target, std::vector<char>(row.expected, 'a'));
        }
        node.start(1, barrier());
        node.finish({1});
        EXPECT_EQ(node.words(1), node.words(0));
    }
}

}  // namespace
}  // namespace acp::team::test
