// SPDX-License-Identifier: BSD-3-Clause
// A context of PM messages between ranks of one process: what arrives, and in which order; room;
// destinations that are closed, not open, or dead; deaths of senders, reported behind their
// messages.
#include "pm/context.hpp"

#include "support/first_touch.hpp"
#include "unit/pm/pm_node.hpp"

namespace acp::pm::test {
namespace {

using base::Code;

class ContextTest : public testing::Test {
protected:
    // Fills the way from one rank to another one. Returns how many messages it took.
    std::uint64_t fill(std::uint32_t from, std::uint32_t to) {
        std::uint64_t count = 0;
        while (send(*all_[from], to, text_of(from, count))) ++count;
        return count;
    }

    PmNode node_{3};
    std::vector<Context*> all_ = node_.open_all();
};

TEST_F(ContextTest, messages_of_any_length_arrive_whole_and_in_the_order_of_each_sender) {
    constexpr std::uint64_t count = 200;
    std::vector<std::uint64_t> sent(3);
    std::vector<std::uint64_t> come(3);
    while (come[0] + come[1] + come[2] < 3 * count) {
        for (std::uint32_t from = 0; from < 3; ++from) {  // rank 1 sends to itself too
            while (sent[from] < count && send(*all_[from], 1, text_of(from, sent[from])))
                ++sent[from];
        }
        while (const auto message = receive(*all_[1])) {
            ASSERT_LT(message->from, 3U);
            ASSERT_EQ(message->text, text_of(message->from, come[message->from]))
                << "message " << come[message->from] << " of " << message->from;
            ++come[message->from];
        }
    }
    EXPECT_FALSE(receive(*all_[0]).has_value());
    EXPECT_TRUE(all_[0]->is_sent());
}

TEST_F(ContextTest, a_message_is_as_long_as_it_was_when_it_was_sent) {
    std::memcpy(all_[0]->reserve(1, 8192), "short", 5);
    EXPECT_TRUE(all_[0]->has_reserved());
    EXPECT_EQ(all_[0]->reserve(1, 1), nullptr) << "one message is composed at a time";
    EXPECT_EQ(all_[0]->reserve(2, 1), nullptr);
    EXPECT_FALSE(all_[1]->has_message()) << "it was not sent yet";
    all_[0]->truncate(5);
    EXPECT_EQ(all_[0]->reserved_bytes(), 5U);
    all_[0]->send();
    EXPECT_FALSE(all_[0]->has_reserved());
    EXPECT_EQ(next(*all_[1]), (Come{0, "short"}));
    ASSERT_TRUE(send(*all_[0], 1, text_of(0, 9)));
    EXPECT_EQ(next(*all_[1]).text, text_of(0, 9)) << "room that was not used is left out";
}

TEST_F(ContextTest, a_message_that_was_looked_for_is_received_once) {
    EXPECT_FALSE(all_[1]->has_message());
    ASSERT_TRUE(send(*all_[0], 1, "a"));
    ASSERT_TRUE(send(*all_[0], 1, "b"));
    while (!all_[1]->has_message()) {
    }
    EXPECT_TRUE(all_[1]->has_message());
    EXPECT_FALSE(all_[1]->is_holding());
    const auto held = all_[1]->receive();
    ASSERT_EQ(std::string(held.data, held.bytes), "a");
    EXPECT_TRUE(all_[1]->is_holding());
    EXPECT_FALSE(all_[1]->has_message()) << "one message is held at a time";
    EXPECT_EQ(std::string(held.data, held.bytes), "a");
    all_[1]->release();
    EXPECT_EQ(next(*all_[1]).text, "b");
    EXPECT_FALSE(all_[1]->has_message());
}

TEST_F(ContextTest, a_destination_that_receives_nothing_takes_a_bounded_number) {
    const std::uint64_t first = fill(0, 1);
    EXPECT_GT(first, 5U);
    EXPECT_LT(first, 100U);
    EXPECT_TRUE(all_[0]->why_no_room(1).is_ok()) << "there may be room later";
    EXPECT_TRUE(send(*all_[0], 2, "x")) << "one destination keeps another one waiting";
    EXPECT_TRUE(send(*all_[2], 1, "y")) << "one sender takes the room of another one";
    std::uint64_t come = 0;
    std::uint64_t sent = first;
    while (come < 3 * first) {
        const Come message = next(*all_[1]);
        if (message.from == 2) continue;
        ASSERT_EQ(message.text, text_of(0, come++));
        while (send(*all_[0], 1, text_of(0, sent))) ++sent;
    }
    EXPECT_GT(sent, first);
}

TEST_F(ContextTest, a_destination_takes_messages_from_the_moment_it_is_open) {
    PmNode node(2);
    Context& sender = node.open(0);
    EXPECT_EQ(sender.reserve(1, 8), nullptr);
    EXPECT_TRUE(sender.why_no_room(1).is_ok()) << "it may open its context later";
    Context& receiver = node.open(1);
    EXPECT_TRUE(send(sender, 1, "hello"));
    EXPECT_EQ(next(receiver).text, "hello");
}

TEST_F(ContextTest, a_closed_destination_is_named_and_what_it_had_not_received_is_dropped) {
    ASSERT_TRUE(send(*all_[0], 1, "received"));
    ASSERT_EQ(next(*all_[1]).text, "received");
    ASSERT_TRUE(send(*all_[0], 1, "dropped"));
    ASSERT_TRUE(send(*all_[0], 1, "dropped too"));
    all_[1]->close();
    EXPECT_EQ(all_[0]->reserve(1, 8), nullptr);
    const base::Status why = all_[0]->why_no_room(1);
    EXPECT_EQ(why.code(), Code::stale);
    EXPECT_NE(why.message().find("closed its context"), std::string_view::npos) << why.message();
    all_[1]->open();
    EXPECT_TRUE(all_[0]->why_no_room(1).is_ok());
    while (!send(*all_[0], 1, "new")) {
    }
    EXPECT_EQ(next(*all_[1]).text, "new");
}

TEST_F(ContextTest, closing_forgets_the_messages_in_the_program) {
    ASSERT_NE(all_[0]->reserve(1, 8), nullptr);
    ASSERT_TRUE(send(*all_[2], 0, "held"));
    while (all_[0]->receive().data == nullptr) {
    }
    ASSERT_TRUE(send(*all_[2], 0, "waiting"));
    all_[0]->close();
    EXPECT_FALSE(all_[0]->has_reserved());
    EXPECT_FALSE(all_[0]->is_holding());
    all_[0]->open();
    EXPECT_FALSE(receive(*all_[0]).has_value());
    ASSERT_TRUE(send(*all_[0], 1, "after"));
    EXPECT_EQ(next(*all_[1]), (Come{0, "after"}));
    while (!send(*all_[2], 0, "again")) {
    }
    EXPECT_EQ(next(*all_[0]), (Come{2, "again"}));
    ASSERT_TRUE(send(*all_[2], 0, "found"));
    while (!all_[0]->has_message()) {
    }
    all_[0]->close();
    all_[0]->open();
    EXPECT_FALSE(receive(*all_[0]).has_value()) << "it was found before the context was closed";
}

TEST_F(ContextTest, a_dead_destination_is_named_with_its_end) {
    ASSERT_TRUE(send(*all_[0], 1, "a"));
    node_.ranks.die(1);
    EXPECT_EQ(all_[0]->reserve(1, 8), nullptr);
    const base::Status why = all_[0]->why_no_room(1);
    EXPECT_EQ(why.code(), Code::peer);
    EXPECT_NE(why.message().find("signal 9"), std::string_view::npos) << why.message();
    EXPECT_TRUE(send(*all_[0], 2, "b")) << "other destinations live";
    EXPECT_EQ(next(*all_[2]).text, "b");
    EXPECT_TRUE(all_[0]->is_sent()) << "a message to a dead rank waits for ever";
}

TEST_F(ContextTest, a_death_is_reported_once_and_behind_all_messages_of_the_dead) {
    EXPECT_FALSE(all_[1]->has_gone());
    for (std::uint64_t number = 0; number < 5; ++number)
        ASSERT_TRUE(send(*all_[0], 1, text_of(0, number)));
    node_.ranks.die(0);
    EXPECT_TRUE(all_[1]->has_new_deaths());
    EXPECT_TRUE(all_[1]->has_gone());
    for (std::uint64_t number = 0; number < 5; ++number) {
        EXPECT_FALSE(all_[1]->take_gone().has_value()) << "before message " << number;
        EXPECT_EQ(next(*all_[1]).text, text_of(0, number));
    }
    EXPECT_EQ(all_[1]->take_gone(), 0U);
    EXPECT_FALSE(all_[1]->take_gone().has_value());
    EXPECT_FALSE(all_[1]->has_gone());
    node_.ranks.die(2);
    EXPECT_EQ(all_[1]->take_gone(), 2U);
    EXPECT_FALSE(all_[1]->take_gone().has_value());
}

TEST_F(ContextTest, of_several_deaths_each_is_reported) {
    node_.ranks.die(0);
    node_.ranks.die(2);
    EXPECT_EQ(all_[1]->take_gone(), 0U);
    EXPECT_TRUE(all_[1]->has_gone());
    EXPECT_EQ(all_[1]->take_gone(), 2U);
    EXPECT_FALSE(all_[1]->has_gone());
}

TEST_F(ContextTest, contexts_of_other_numbers_are_apart) {
    Context& other = node_.open(1, pm_contexts - 1);
    ASSERT_TRUE(send(*all_[0], 1, "to the first"));
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(receive(other).has_value());
    EXPECT_EQ(next(*all_[1]).text, "to the first");
    Context& sender = node_.open(0, pm_contexts - 1);
    ASSERT_TRUE(send(sender, 1, "to the last"));
    EXPECT_EQ(next(other).text, "to the last");
    EXPECT_FALSE(receive(*all_[1]).has_value());
    other.close();
    EXPECT_TRUE(all_[0]->why_no_room(1).is_ok());
    EXPECT_TRUE(send(*all_[0], 1, "still open"));
}

TEST_F(ContextTest, a_descriptor_is_readable_while_there_is_something_to_receive) {
    int descriptor = -1;
    auto is_armed = all_[1]->before_select(descriptor);
    ASSERT_TRUE(is_armed.is_ok()) << is_armed.failure().message();
    EXPECT_TRUE(is_armed.value());
    EXPECT_GE(descriptor, 0);
    ASSERT_TRUE(send(*all_[0], 1, "ring"));
    const int fds[] = {descriptor};
    EXPECT_TRUE(os::wait_readable(fds, -1));
    all_[1]->after_select();
    EXPECT_EQ(next(*all_[1]).text, "ring");
    ASSERT_TRUE(send(*all_[0], 1, "before"));
    int again = -1;
    is_armed = all_[1]->before_select(again);
    ASSERT_TRUE(is_armed.is_ok());
    EXPECT_FALSE(is_armed.value()) << "a message is there";
    EXPECT_EQ(again, descriptor);
    EXPECT_TRUE(os::wait_readable(fds, -1));
    all_[1]->after_select();
    EXPECT_EQ(next(*all_[1]).text, "before");
}

// More destinations than a context has outlets: an outlet whose messages were all received serves
// another destination.
TEST(ContextOfMany, destinations_take_turns_at_outlets) {
    constexpr std::uint32_t procs = outlets + 3;
    PmNode node(procs, 4 << 20);
    const std::vector<Context*> all = node.open_all();
    for (std::uint64_t round = 0; round < 2; ++round) {
        for (std::uint32_t to = 1; to < procs; ++to) {
            while (!send(*all[0], to, text_of(to, round))) {
                for (Context* const each : all) (void)each->has_message();
            }
            EXPECT_EQ(next(*all[to]), (Come{0, text_of(to, round)}));
        }
    }
}

// Rank 7, whose slot lies in another page than that of rank 0, sends for the first time and dies
// while rank 0 searches for dead processes.
TEST(ContextDeathTest, a_sender_that_dies_during_the_search_is_reported_behind_its_message) {
    PmNode node(8);
    const std::vector<Context*> all = node.open_all();
    node.ranks.die(1);
    ASSERT_EQ(all[0]->take_gone(), 1U);
    {
        const acp::test::FirstTouch between(&node.ranks.segment().slot(7), [&] {
            EXPECT_TRUE(send(*all[7], 0, "the last one"));
            node.ranks.die(7);
        });
        EXPECT_FALSE(all[0]->take_gone().has_value());
    }
    EXPECT_EQ(receive(*all[0]), (Come{7, "the last one"}));
    EXPECT_EQ(all[0]->take_gone(), 7U);
}

}  // namespace
}  // namespace acp::pm::test
