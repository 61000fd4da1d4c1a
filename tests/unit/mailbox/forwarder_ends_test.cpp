// SPDX-License-Identifier: BSD-3-Clause
// Completions of commands: reported to other processes, and handled for own commands; the old value
// of an atomic, which is sent to its target; bytes that were fetched. One thread.
#include "mailbox/forwarder_ends.hpp"

#include "node/death.hpp"

#include "unit/mailbox/test_parts.hpp"

namespace acp::mailbox::test {
namespace {

using base::Code;

class ForwarderEndsTest : public PartsTest {
protected:
    static memory::Command add(memory::GlobalAddress target, memory::GlobalAddress word) {
        return {memory::Operation::add, 8, target, word, 0, 1, 0};
    }

    [[nodiscard]] std::uint64_t forwarded() const {
        return own.segment.slot(self).mailbox_commands.load(std::memory_order_relaxed);
    }

    [[nodiscard]] std::uint64_t served() const {
        return own.segment.slot(self).served_commands.load(std::memory_order_relaxed);
    }

    ForwarderEnds ends{accesses, queues, commands, counters};
};

TEST_F(ForwarderEndsTest, notifies_another_process_by_a_message) {
    ends.report(1, 77, {Code::ok, Blame::nothing, 41});
    ends.report(2, 78, {Code::stale, Blame::target, 0});
    ASSERT_EQ(port.sent.size(), 2U);
    const MessageHead& good = port.sent[0].head;
    EXPECT_EQ(port.sent[0].receiver, 1U);
    EXPECT_EQ(good.kind, MessageKind::end);
    EXPECT_EQ(good.origin, 1U);
    EXPECT_EQ(good.token, 77U);
    EXPECT_EQ(static_cast<Code>(good.code), Code::ok);
    EXPECT_EQ(good.operand, 41U);
    EXPECT_EQ(good.epoch, parts_epoch);
    const MessageHead& bad = port.sent[1].head;
    EXPECT_EQ(port.sent[1].receiver, 2U);
    EXPECT_EQ(static_cast<Code>(bad.code), Code::stale);
    EXPECT_EQ(static_cast<Blame>(bad.blame), Blame::target);
    EXPECT_EQ(served(), 1U) << "one was carried out";
}

TEST_F(ForwarderEndsTest, an_own_command_ends_once) {
    const std::uint64_t token = commands.token_of(running_at(1, 5, copy(theirs, mine, 24)));
    ends.report(self, token, {});
    EXPECT_EQ(only_end().token, 5U);
    EXPECT_EQ(forwarded(), 1U);
    EXPECT_EQ(own.segment.slot(self).mailbox_bytes.load(), 24U);
    ends.on_end(token, {});
    ends.on_end(token, {Code::stale, Blame::source, 0});
    EXPECT_TRUE(commands.ended().empty());
    EXPECT_TRUE(port.sent.empty());
}

TEST_F(ForwarderEndsTest, a_failure_that_another_process_found_is_explained_here) {
    const std::uint64_t token = commands.token_of(running_at(1, 5, copy(theirs, mine, 24)));
    ASSERT_EQ(other.remove(theirs), Code::ok);
    ends.on_end(token, {Code::stale, Blame::target, 0});
    const ForwardedEnd end = only_end();
    EXPECT_EQ(end.code, Code::stale);
    EXPECT_EQ(end.message.rfind("the target is ", 0), 0U) << end.message;
    EXPECT_EQ(forwarded(), 0U);
}

TEST_F(ForwarderEndsTest, an_old_value_is_stored_where_the_target_is_reached) {
    const std::uint64_t token = commands.token_of(running_at(1, 5, add(mine + 64, theirs)));
    ends.on_end(token, {Code::ok, Blame::nothing, 12345});
    EXPECT_EQ(only_end().code, Code::ok);
    EXPECT_EQ(word_at(64), 12345U);
}

TEST_F(ForwarderEndsTest, an_old_value_for_another_process_is_sent_there_and_then_the_atomic_ends) {
    const std::uint32_t index = running_at(1, 5, add(theirs + 64, theirs));
    const std::uint64_t token = commands.token_of(index);
    ends.on_end(token, {Code::ok, Blame::nothing, 0x0102030405060708});
    EXPECT_TRUE(commands.ended().empty());
    ASSERT_EQ(port.sent.size(), 1U);
    const FakePort::Sent& sent = port.sent[0];
    EXPECT_EQ(sent.receiver, 1U);
    EXPECT_EQ(sent.head.kind, MessageKind::data);
    EXPECT_EQ(sent.head.target, theirs + 64);
    EXPECT_EQ(sent.head.token, token);
    EXPECT_NE(sent.head.is_last, 0);
    EXPECT_EQ(sent.payload, std::string("\x08\x07\x06\x05\x04\x03\x02\x01", 8));
    EXPECT_EQ(forwarded(), 1U);
    ends.on_end(token, {});
    EXPECT_EQ(only_end().token, 5U);
    EXPECT_EQ(forwarded(), 1U) << "storing the old value is no second command";
}

TEST_F(ForwarderEndsTest, an_old_value_whose_target_has_vanished_or_died_fails_the_atomic) {
    const std::uint32_t vanished = running_at(1, 5, add(mine, theirs));
    ASSERT_EQ(own.remove(mine), Code::ok);
    ends.on_end(commands.token_of(vanished), {Code::ok, Blame::nothing, 1});
    const ForwardedEnd stale = only_end();
    EXPECT_EQ(stale.code, Code::stale);
    EXPECT_EQ(stale.message.rfind("the target is ", 0), 0U) << stale.message;
    const memory::GlobalAddress last = third.add(other_bytes.data(), 64);
    const std::uint32_t orphaned = running_at(1, 6, add(last, theirs));
    node::mark_dead(node, 2, 9);
    ASSERT_TRUE(queues.note_death(2));
    ends.on_end(commands.token_of(orphaned), {Code::ok, Blame::nothing, 1});
    EXPECT_EQ(only_end().code, Code::peer);
    EXPECT_TRUE(port.sent.empty());
}

TEST_F(ForwarderEndsTest, an_old_value_without_an_address_stays_in_the_completion) {
    ASSERT_TRUE(commands.make_room());
    const std::uint32_t wanted = commands.add(5, add(0, theirs));
    commands.want_value(wanted);
    ASSERT_TRUE(commands.send_to(wanted, 1, ForwarderCommands::nobody));
    ends.on_end(commands.token_of(wanted), {Code::ok, Blame::nothing, 99});
    EXPECT_EQ(only_end().value, 99U);
    const std::uint32_t unwanted = running_at(1, 6, add(0, theirs));
    ends.on_end(commands.token_of(unwanted), {Code::ok, Blame::nothing, 99});
    EXPECT_EQ(only_end().code, Code::ok);
    EXPECT_EQ(other_bytes[0], 0);
    EXPECT_TRUE(port.sent.empty());
}

TEST_F(ForwarderEndsTest, fetched_bytes_end_the_get_that_asked_for_them) {
    std::array<char, 8> into{};
    const auto fetch = [&](std::uint64_t user_token) {
        const std::uint32_t index = running_at(1, user_token, copy(0, theirs, 8));
        commands.fetch_into(index, into.data());
        return commands.token_of(index);
    };
    const std::uint64_t good = fetch(5);
    ends.on_fetched(1, good, std::span("XXXXXXXX", 8));
    EXPECT_TRUE(commands.ended().empty()) << "the bytes were for another process";
    ends.on_fetched(self, good, std::span("abcdefgh", 8));
    EXPECT_EQ(only_end().code, Code::ok);
    EXPECT_EQ(std::string(into.data(), 8), "abcdefgh");
    ends.on_fetched(self, good, std::span("XXXXXXXX", 8));
    EXPECT_EQ(std::string(into.data(), 8), "abcdefgh") << "bytes came after the end";
    ends.on_fetched(self, fetch(6), std::span("XXXXXXX", 7));
    EXPECT_EQ(only_end().code, Code::system);
    const std::uint32_t no_get = running_at(1, 7, copy(mine, theirs, 8));
    ends.on_fetched(self, commands.token_of(no_get), std::span("XXXXXXXX", 8));
    EXPECT_EQ(only_end().code, Code::system);
    EXPECT_EQ(std::string(into.data(), 8), "abcdefgh");
}

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
