// SPDX-License-Identifier: BSD-3-Clause
// Copies in pieces: what each piece carries, turns and room, moves within the process, and copies
// whose memory or processes vanish midway. One thread.
#include "mailbox/forwarder_copies.hpp"

#include "node/death.hpp"

#include "unit/mailbox/test_parts.hpp"

namespace acp::mailbox::test {
namespace {

using base::Code;

constexpr std::uint64_t piece = parts_datagram_bytes;

class ForwarderCopiesTest : public PartsTest {
protected:
    // Begins a copy from this process's memory to that of `receiver`, which is also its initiator.
    PieceCopy send(std::uint32_t receiver, std::uint64_t token, std::uint64_t count) {
        const PieceCopy made{token, theirs, mine, count, 0, receiver};
        local::Place source;
        EXPECT_TRUE(accesses.find_source(mine, count, source).is_ok());
        const ForwarderMemory::Naming naming(accesses, mine, mine);
        copies.send(receiver, made, source);
        return made;
    }

    // The tokens of the messages sent since the last call.
    std::vector<std::uint64_t> tokens() {
        std::vector<std::uint64_t> all;
        for (const FakePort::Sent& one : port.take_sent()) all.push_back(one.head.token);
        return all;
    }

    ForwarderEnds ends{accesses, queues, commands, counters};
    ForwarderDevices devices{accesses};
    ForwarderCopies copies{accesses, queues, commands, ends, devices};
};

using Tokens = std::vector<std::uint64_t>;

TEST_F(ForwarderCopiesTest, a_copy_that_fits_one_message_leaves_at_once) {
    send(1, 5, piece);
    ASSERT_EQ(port.sent.size(), 1U);
    const FakePort::Sent& sent = port.sent[0];
    EXPECT_EQ(sent.receiver, 1U);
    EXPECT_EQ(sent.head.kind, MessageKind::data);
    EXPECT_EQ(sent.head.origin, 1U);
    EXPECT_EQ(sent.head.target, theirs);
    EXPECT_EQ(sent.head.source, mine);
    EXPECT_NE(sent.head.is_last, 0);
    EXPECT_EQ(sent.payload, std::string(bytes.data(), piece));
    EXPECT_TRUE(queues.is_empty());
    EXPECT_EQ(copies.send_waiting(), 0U);
}

TEST_F(ForwarderCopiesTest, a_longer_copy_is_cut_into_pieces_and_the_last_one_is_marked) {
    send(1, 5, 2 * piece + 1);
    EXPECT_TRUE(port.sent.empty());
    EXPECT_EQ(copies.send_waiting(), 3U);
    ASSERT_EQ(port.sent.size(), 3U);
    for (std::uint64_t i = 0; i < 3; ++i) {
        const FakePort::Sent& sent = port.sent[i];
        EXPECT_EQ(sent.head.target, theirs + i * piece);
        EXPECT_EQ(sent.head.source, mine + i * piece);
        EXPECT_EQ(sent.head.is_last != 0, i == 2);
        EXPECT_EQ(sent.payload, std::string(bytes.data() + i * piece, i == 2 ? 1 : piece));
    }
    EXPECT_TRUE(queues.is_empty());
}

TEST_F(ForwarderCopiesTest, copies_to_one_receiver_take_turns_and_a_turn_is_bounded) {
    send(1, 5, 20 * piece);
    send(1, 6, 20 * piece);
    EXPECT_EQ(copies.send_waiting(), pieces_per_poll_max);
    const Tokens sent = tokens();
    for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(sent[i], 5 + i % 2);
    while (copies.send_waiting() > 0) {
    }
    EXPECT_EQ(tokens().size(), 40 - pieces_per_poll_max);
}

TEST_F(ForwarderCopiesTest, a_short_copy_does_not_overtake_one_that_waits_for_its_receiver) {
    port.room[1] = 0;
    send(1, 5, 8);
    port.room.clear();
    send(1, 6, 8);
    EXPECT_TRUE(port.sent.empty());
    EXPECT_EQ(copies.send_waiting(), 2U);
    EXPECT_EQ(tokens(), (Tokens{5, 6}));
}

TEST_F(ForwarderCopiesTest, a_receiver_without_room_holds_up_no_other) {
    port.room[1] = 1;
    send(1, 5, 3 * piece);
    send(2, 6, 3 * piece);
    EXPECT_EQ(copies.send_waiting(), 4U);
    EXPECT_EQ(tokens(), (Tokens{5, 6, 6, 6}));
    EXPECT_EQ(copies.send_waiting(), 0U);
    port.room.clear();
    EXPECT_EQ(copies.send_waiting(), 2U);
    EXPECT_EQ(tokens(), (Tokens{5, 5}));
}

TEST_F(ForwarderCopiesTest, messages_that_waited_leave_before_pieces) {
    port.room[1] = 0;
    send(1, 5, 8);
    ends.report(1, 6, {});
    port.room[1] = 1;
    EXPECT_EQ(copies.send_waiting(), 1U);
    EXPECT_EQ(tokens(), Tokens{6});
}

// A line with a null target names no address, so an owner would not wait for this access.
TEST_F(ForwarderCopiesTest, a_fetch_that_waited_for_room_is_sent_while_its_source_is_named) {
    const memory::HazardLine& line = *own.hazards.own_line();
    bool is_named = false;
    port.on_send = [&] {
        is_named = memory::is_named_by(
            line, [this](memory::GlobalAddress address) { return address == mine; });
    };
    const PieceCopy fetch{5, 0, mine, 8, 0, 1};
    queues.add_copy(1, fetch);
    EXPECT_EQ(copies.send_waiting(), 1U);
    ASSERT_EQ(port.sent.size(), 1U);
    EXPECT_EQ(port.sent[0].head.target, 0U);
    EXPECT_TRUE(is_named);
}

TEST_F(ForwarderCopiesTest, moves_within_the_process_and_notifies_the_initiator) {
    copies.move_in_turns({5, mine + 2048, mine, 100, 0, 1});
    EXPECT_EQ(copies.send_waiting(), 1U);
    EXPECT_EQ(std::memcmp(bytes.data() + 2048, bytes.data(), 100), 0);
    ASSERT_EQ(port.sent.size(), 1U);
    EXPECT_EQ(port.sent[0].head.kind, MessageKind::end);
    EXPECT_EQ(port.sent[0].head.token, 5U);
    EXPECT_TRUE(queues.is_empty());
}

TEST_F(ForwarderCopiesTest, moves_long_ranges_in_turns_and_overlapping_ones_in_one_go) {
    std::vector<char> large(5 * move_bytes_max);
    for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i % 251);
    const std::vector<char> before = large;
    const memory::GlobalAddress key = own.add(large.data(), large.size());
    const std::uint64_t count = 2 * move_bytes_max + 1;
    copies.move_in_turns({5, key + count, key, count, 0, 1});
    EXPECT_EQ(copies.send_waiting(), 3U);
    EXPECT_EQ(std::memcmp(large.data() + count, before.data(), count), 0);
    large = before;
    const memory::GlobalAddress again = own.add(large.data(), large.size());
    copies.move_in_turns({6, again + 64, again, count, 0, 1});
    EXPECT_EQ(copies.send_waiting(), 1U);
    EXPECT_EQ(std::memcmp(large.data() + 64, before.data(), count), 0);
}

TEST_F(ForwarderCopiesTest, a_copy_whose_memory_vanishes_midway_sends_no_further_byte) {
    port.room[2] = 1;
    send(2, 5, 3 * piece);
    EXPECT_EQ(copies.send_waiting(), 1U);
    port.room.clear();
    ASSERT_EQ(own.remove(mine), Code::ok);
    (void)port.take_sent();
    EXPECT_EQ(copies.send_waiting(), 1U);
    ASSERT_EQ(port.sent.size(), 1U);
    EXPECT_EQ(port.sent[0].head.kind, MessageKind::end);
    EXPECT_EQ(static_cast<Code>(port.sent[0].head.code), Code::stale);
    EXPECT_EQ(static_cast<Blame>(port.sent[0].head.blame), Blame::source);
    EXPECT_TRUE(queues.is_empty());
}

TEST_F(ForwarderCopiesTest, an_own_copy_that_has_ended_sends_no_further_byte) {
    const std::uint32_t index = running_at(1, 9, copy(theirs, mine, 3 * piece));
    queues.add_copy(1, {commands.token_of(index), theirs, mine, 3 * piece, 0, self});
    port.room[1] = 1;
    EXPECT_EQ(copies.send_waiting(), 1U);
    commands.finish(index);
    port.room.clear();
    (void)port.take_sent();
    (void)copies.send_waiting();
    EXPECT_TRUE(port.sent.empty());
    EXPECT_TRUE(queues.is_empty());
}

TEST_F(ForwarderCopiesTest, a_death_ends_the_copies_to_the_dead_and_drops_those_for_it) {
    const std::uint32_t index = running_at(1, 9, copy(theirs, mine, 3 * piece));
    queues.add_copy(1, {commands.token_of(index), theirs, mine, 3 * piece, 0, self});
    queues.add_copy(1, {6, theirs, mine, 3 * piece, 0, 2});
    queues.add_copy(2, {7, theirs, mine, 3 * piece, 0, 1});
    queues.add_copy(1, {8, theirs, mine, 3 * piece, 0, 1});
    node::mark_dead(node, 1, 9);
    ASSERT_TRUE(queues.note_death(1));
    copies.on_death(1);
    EXPECT_EQ(only_end().code, Code::peer);
    ASSERT_EQ(port.sent.size(), 1U);
    EXPECT_EQ(port.sent[0].receiver, 2U);
    EXPECT_EQ(port.sent[0].head.token, 6U);
    EXPECT_EQ(static_cast<Code>(port.sent[0].head.code), Code::peer);
    EXPECT_EQ(port.sent[0].head.operand, 1U);
    EXPECT_EQ(copies.send_waiting(), 0U);
    EXPECT_TRUE(queues.is_empty());
}

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
