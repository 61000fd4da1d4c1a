// SPDX-License-Identifier: BSD-3-Clause
// Contexts by the scheme of paper 001 between ranks of one process: messages of any length around
// the end of a buffer, a full buffer, destinations that are closed or dead, and refused memory.
#include "pm/per_peer_context.hpp"

#include <array>
#include <new>

#include "pm/waits.hpp"
#include "support/refuse_memory.hpp"
#include "unit/pm/pm_node.hpp"

namespace acp::pm::test {
namespace {

using base::Code;

class PerPeerContextTest : public testing::Test {
protected:
    PerPeerContextTest() {
        for (std::uint32_t rank = 0; rank < 3; ++rank) {
            auto opened = node_.contexts[rank]->open_per_peer(0);
            EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
            all_.push_back(node_.contexts[rank]->find_per_peer(opened.value()));
        }
    }

    PmNode node_{3};
    std::vector<PerPeerContext*> all_;
};

// All ranks send to all: the buffers of both directions between two ranks are neighbours.
TEST_F(PerPeerContextTest, messages_arrive_whole_and_in_order_many_times_around_the_buffer) {
    constexpr std::uint64_t count = 300;
    std::array<std::array<std::uint64_t, 3>, 3> sent{};
    std::array<std::array<std::uint64_t, 3>, 3> come{};
    for (std::uint64_t all = 0; all < 9 * count;) {
        for (std::uint32_t from = 0; from < 3; ++from) {
            for (std::uint32_t to = 0; to < 3; ++to) {
                std::uint64_t& number = sent[from][to];
                while (number < count && send(*all_[from], to, text_of(3 * from + to, number)))
                    ++number;
            }
        }
        for (std::uint32_t to = 0; to < 3; ++to) {
            while (const auto message = receive(*all_[to])) {
                std::uint64_t& number = come[message->from][to];
                ASSERT_EQ(message->text, text_of(3 * message->from + to, number));
                ++number;
                ++all;
            }
        }
    }
    EXPECT_FALSE(all_[1]->has_message());
    EXPECT_TRUE(all_[0]->is_sent());
}

TEST_F(PerPeerContextTest, each_sender_has_a_buffer_of_its_own_at_the_receiver) {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    while (send(*all_[0], 1, text_of(0, count))) bytes += text_of(0, count++).size();
    EXPECT_GT(bytes, PerPeerContext::buffer_bytes / 2);
    EXPECT_LT(bytes, PerPeerContext::buffer_bytes);
    EXPECT_TRUE(all_[0]->why_no_room(1).is_ok());
    EXPECT_EQ(wait_for_room(*all_[0], 1, message_bytes_max, 0).outcome, RoomWait::timeout);
    EXPECT_TRUE(send(*all_[2], 1, "mine")) << "another sender has no room either";
    EXPECT_TRUE(send(*all_[0], 2, "elsewhere"));
    for (std::uint64_t number = 0; number < count;) {
        const Come message = next(*all_[1]);
        if (message.from == 2) continue;
        ASSERT_EQ(message.text, text_of(0, number++));
    }
    EXPECT_EQ(wait_for_room(*all_[0], 1, message_bytes_max, 0).outcome, RoomWait::room);
}

TEST_F(PerPeerContextTest, a_message_may_be_shortened_and_one_is_composed_at_a_time) {
    std::memcpy(all_[0]->reserve(1, 5000), "short", 5);
    EXPECT_EQ(all_[0]->reserve(2, 8), nullptr);
    EXPECT_EQ(all_[0]->reserved_bytes(), 5000U);
    EXPECT_FALSE(all_[1]->has_message());
    all_[0]->truncate(5);
    all_[0]->send();
    EXPECT_FALSE(all_[0]->has_reserved());
    ASSERT_TRUE(send(*all_[0], 1, "next"));
    EXPECT_EQ(next(*all_[1]), (Come{0, "short"}));
    EXPECT_EQ(next(*all_[1]), (Come{0, "next"}));
}

TEST_F(PerPeerContextTest, waits_end_with_a_message_or_with_their_time) {
    EXPECT_FALSE(wait_for_message(*all_[1], 0));
    EXPECT_FALSE(wait_for_message(*all_[1], 1'000'000));
    ASSERT_TRUE(send(*all_[0], 1, "a"));
    EXPECT_TRUE(wait_for_message(*all_[1], -1));
    ASSERT_NE(all_[1]->receive().data, nullptr);
    EXPECT_TRUE(all_[1]->is_holding());
    EXPECT_TRUE(wait_for_message(*all_[1], 0)) << "a message is held";
    all_[1]->release();
    while (send(*all_[1], 2, text_of(1, 12))) {
    }
    ASSERT_TRUE(send(*all_[0], 1, "b"));
    EXPECT_EQ(wait_for_room(*all_[1], 2, 8192, -1).outcome, RoomWait::message);
}

TEST_F(PerPeerContextTest, a_closed_or_dead_destination_has_no_room) {
    all_[1]->close();
    EXPECT_EQ(all_[0]->reserve(1, 8), nullptr);
    RoomFound found = wait_for_room(*all_[0], 1, 8, -1);
    EXPECT_EQ(found.outcome, RoomWait::never);
    EXPECT_EQ(found.why.code(), Code::stale) << found.why.message();
    ASSERT_TRUE(send(*all_[0], 2, "to the living"));
    node_.ranks.die(2);
    EXPECT_EQ(all_[0]->reserve(2, 8), nullptr);
    found = wait_for_room(*all_[0], 2, 8, -1);
    EXPECT_EQ(found.outcome, RoomWait::never);
    EXPECT_EQ(found.why.code(), Code::peer);
    EXPECT_TRUE(all_[0]->is_sent());
}

TEST_F(PerPeerContextTest, a_destination_that_is_not_open_has_no_room_yet) {
    PmNode node(2);
    PerPeerContext& sender =
        *node.contexts[0]->find_per_peer(node.contexts[0]->open_per_peer(0).value());
    EXPECT_EQ(sender.reserve(1, 8), nullptr);
    EXPECT_TRUE(sender.why_no_room(1).is_ok());
    PerPeerContext& receiver =
        *node.contexts[1]->find_per_peer(node.contexts[1]->open_per_peer(0).value());
    EXPECT_TRUE(send(sender, 1, "now"));
    EXPECT_EQ(next(receiver).text, "now");
}

TEST_F(PerPeerContextTest, a_message_that_was_refused_memory_is_sent_by_the_next_attempt) {
    std::memcpy(all_[0]->reserve(1, 6), "second", 6);
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        EXPECT_THROW(all_[0]->send(), std::bad_alloc);
    }
    EXPECT_FALSE(all_[1]->has_message());
    ASSERT_TRUE(all_[0]->has_reserved());
    all_[0]->send();
    EXPECT_EQ(next(*all_[1]).text, "second");
    EXPECT_FALSE(all_[1]->has_message()) << "it came twice";
    ASSERT_TRUE(send(*all_[2], 1, "x"));
    ASSERT_NE(all_[1]->receive().data, nullptr);
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        EXPECT_THROW(all_[1]->release(), std::bad_alloc);
    }
    EXPECT_TRUE(all_[1]->is_holding());
    all_[1]->release();
    EXPECT_FALSE(all_[1]->has_message());
}

}  // namespace
}  // namespace acp::pm::test
