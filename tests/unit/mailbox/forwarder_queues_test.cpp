// SPDX-License-Identifier: BSD-3-Clause
// Messages and copies that wait for room, by receiver: order, polls, deaths, and the memory that is
// reserved for them. One thread.
#include "mailbox/forwarder_queues.hpp"

#include "mailbox/forwarder_types.hpp"

#include "support/refuse_memory.hpp"
#include "unit/mailbox/test_parts.hpp"

namespace acp::mailbox::test {
namespace {

class ForwarderQueuesTest : public testing::Test {
protected:
    static constexpr std::uint32_t self = 0;
    static constexpr std::uint32_t slots = 4;

    [[nodiscard]] MessageHead message(std::uint64_t token) const {
        return queues.head(MessageKind::end, self, token);
    }

    // The tokens of the messages sent since the last call.
    std::vector<std::uint64_t> tokens() {
        std::vector<std::uint64_t> all;
        for (const FakePort::Sent& one : port.take_sent()) all.push_back(one.head.token);
        return all;
    }

    void add_copy(std::uint32_t receiver, std::uint64_t token, std::uint32_t origin) {
        PieceCopy copy;
        copy.token = token;
        copy.origin = origin;
        queues.add_copy(receiver, copy);
    }

    FakePort port;
    ForwarderQueues queues{port, self, slots, parts_epoch};
};

using Tokens = std::vector<std::uint64_t>;

TEST_F(ForwarderQueuesTest, sends_at_once_what_finds_room) {
    queues.post(1, message(7), std::span("12345678", 8));
    ASSERT_EQ(port.sent.size(), 1U);
    EXPECT_EQ(port.sent[0].receiver, 1U);
    EXPECT_EQ(port.sent[0].head.epoch, parts_epoch);
    EXPECT_EQ(port.sent[0].payload, "12345678");
    EXPECT_TRUE(queues.is_empty());
}

TEST_F(ForwarderQueuesTest, messages_to_one_receiver_leave_in_order) {
    port.room[1] = 0;
    queues.post(1, message(1), std::span("abcd", 4));
    port.room[1] = 2;
    queues.post(1, message(2), {});
    queues.post(1, message(3), {});
    queues.post(2, message(4), {});
    EXPECT_EQ(tokens(), Tokens{4}) << "a message overtook one that waits for the same receiver";
    EXPECT_EQ(queues.send_messages(1), 2U);
    EXPECT_TRUE(queues.has_messages(1));
    EXPECT_EQ(port.sent[0].payload, "abcd");
    EXPECT_EQ(tokens(), (Tokens{1, 2}));
    port.room[1] = 1;
    EXPECT_EQ(queues.send_messages(1), 1U);
    EXPECT_FALSE(queues.has_messages(1));
    EXPECT_EQ(tokens(), Tokens{3});
}

TEST_F(ForwarderQueuesTest, copies_to_one_receiver_take_turns) {
    for (std::uint64_t token = 1; token <= 3; ++token) add_copy(1, token, self);
    queues.first_copy(1).done = 5;
    queues.rotate_copies(1);
    EXPECT_EQ(queues.take_copy(1).token, 2U);
    EXPECT_EQ(queues.take_copy(1).token, 3U);
    const PieceCopy first = queues.take_copy(1);
    EXPECT_EQ(first.token, 1U);
    EXPECT_EQ(first.done, 5U);
    EXPECT_FALSE(queues.has_copies(1));
}

TEST_F(ForwarderQueuesTest, a_receiver_is_listed_while_something_waits_for_it) {
    for (const std::uint32_t receiver : {1U, 2U, 3U}) add_copy(receiver, 1, self);
    add_copy(2, 2, self);
    ASSERT_EQ(queues.receivers().size(), 3U);
    EXPECT_FALSE(queues.unlist_if_empty(0));
    (void)queues.take_copy(1);
    EXPECT_TRUE(queues.unlist_if_empty(0));
    ASSERT_EQ(queues.receivers().size(), 2U);
    EXPECT_EQ(queues.receivers()[0], 3U);
    EXPECT_EQ(queues.receivers()[1], 2U);
    add_copy(1, 3, self);
    EXPECT_EQ(queues.receivers().size(), 3U);
    EXPECT_FALSE(queues.is_empty());
}

TEST_F(ForwarderQueuesTest, work_that_waits_for_room_cannot_progress) {
    EXPECT_FALSE(queues.can_send());
    port.room[1] = 0;
    queues.post(1, message(1), {});
    EXPECT_FALSE(queues.can_send());
    port.room[1] = 1;
    EXPECT_TRUE(queues.can_send());
    port.room[1] = 0;
    port.room[self] = 0;
    add_copy(self, 2, self);
    EXPECT_TRUE(queues.can_send()) << "a copy within the process needs no room";
}

TEST_F(ForwarderQueuesTest, forgets_messages_to_the_dead_and_takes_no_more) {
    const std::uint32_t free = queues.make_room(1);
    port.room[1] = 0;
    queues.post(1, message(1), {});
    add_copy(1, 2, self);
    EXPECT_TRUE(queues.note_death(1));
    EXPECT_TRUE(queues.is_dead(1));
    EXPECT_EQ(port.forgotten, std::set<std::uint32_t>{1});
    EXPECT_FALSE(queues.has_messages(1));
    EXPECT_TRUE(queues.has_copies(1)) << "copies are the caller's to end";
    (void)queues.take_copy(1);
    EXPECT_EQ(queues.make_room(1), free) << "an item was lost";
    port.room.clear();
    queues.post(1, message(3), {});
    EXPECT_TRUE(port.sent.empty());
    EXPECT_FALSE(queues.note_death(1)) << "note_death() returns true once for each death";
    EXPECT_FALSE(queues.note_death(self));
    EXPECT_FALSE(queues.is_dead(self));
}

TEST_F(ForwarderQueuesTest, drops_the_copies_of_one_origin_and_keeps_the_order_of_the_others) {
    const std::uint32_t free = queues.make_room(1);
    for (std::uint64_t token = 0; token < 6; ++token) {
        add_copy(2, token, token % 2 == 0 ? 1 : 3);
        add_copy(self, token, token % 2 == 0 ? 1 : 3);
    }
    std::uint32_t dropped = 0;
    queues.drop_copies_of(1, [&](PieceCopy& copy) {
        EXPECT_EQ(copy.origin, 1U);
        ++dropped;
    });
    EXPECT_EQ(dropped, 6U);
    EXPECT_EQ(queues.make_room(1), free - 6);
    for (const std::uint32_t receiver : {self, 2U}) {
        for (const std::uint64_t token : {1U, 3U, 5U}) {
            ASSERT_TRUE(queues.has_copies(receiver));
            EXPECT_EQ(queues.take_copy(receiver).token, token);
        }
        EXPECT_FALSE(queues.has_copies(receiver));
    }
}

// A process that found room with its last message is rung by no receiver.
TEST_F(ForwarderQueuesTest, a_receiver_may_have_room_unless_it_refused_the_last_message) {
    EXPECT_TRUE(queues.may_have_room(1));
    port.room[1] = 0;
    EXPECT_TRUE(queues.may_have_room(1)) << "no message was refused";
    EXPECT_FALSE(queues.send(1, message(1), {}));
    EXPECT_FALSE(queues.may_have_room(1));
    port.room[1] = 1;
    EXPECT_TRUE(queues.may_have_room(1));
    EXPECT_TRUE(queues.send(1, message(2), {}));
    EXPECT_EQ(port.room[1], 0U);
    EXPECT_TRUE(queues.may_have_room(1)) << "it rings no bell for the next room";
    queues.post(1, message(3), {});
    EXPECT_FALSE(queues.may_have_room(1));
    EXPECT_TRUE(queues.may_have_room(2)) << "another receiver has room";
}

TEST_F(ForwarderQueuesTest, knows_the_messages_with_waiters) {
    MessageHead head = queues.head(MessageKind::command, 1, 5);
    EXPECT_TRUE(queues.is_wanted(head));
    head.epoch = parts_epoch + 1;
    EXPECT_FALSE(queues.is_wanted(head));
    head.epoch = any_epoch;
    EXPECT_TRUE(queues.is_wanted(head));
    head.origin = slots;
    EXPECT_FALSE(queues.is_wanted(head));
    head.origin = 1;
    EXPECT_TRUE(queues.note_death(1));
    EXPECT_FALSE(queues.is_wanted(head));
    const ForwarderQueues ageless(port, self, slots, any_epoch);
    head.epoch = 99;
    EXPECT_TRUE(ageless.is_wanted(head));
}

TEST_F(ForwarderQueuesTest, needs_no_memory_for_what_it_made_room_for) {
    for (const std::uint32_t receiver : {1U, 2U, 3U}) port.room[receiver] = 0;
    ASSERT_GE(queues.make_room(3 * 200), 600U);
    const acp::test::Refusal refusal(1, acp::test::all_from_there);
    for (std::uint64_t i = 0; i < 100; ++i) {
        for (const std::uint32_t receiver : {1U, 2U, 3U}) {
            queues.post(receiver, message(i), {});
            add_copy(receiver, i, self);
        }
    }
    const std::uint32_t left = queues.make_room(10'000);
    EXPECT_LT(left, 10'000U) << "memory was refused";
    EXPECT_EQ(queues.receivers().size(), 3U);
}

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
