// SPDX-License-Identifier: BSD-3-Clause
// Commands from submission to their one completion: tokens, places at receivers, deaths, and the
// memory for a completion. One thread.
#include "mailbox/forwarder_commands.hpp"

#include "node/death.hpp"

#include "support/refuse_memory.hpp"
#include "unit/mailbox/test_parts.hpp"

namespace acp::mailbox::test {
namespace {

using base::Code;

constexpr std::uint32_t nobody = ForwarderCommands::nobody;

class ForwarderCommandsTest : public PartsTest {
protected:
    // Enqueues a command and takes it again, like ForwarderStarter.
    std::uint32_t begin(std::uint64_t user_token, const memory::Command& command) {
        EXPECT_TRUE(commands.make_room());
        commands.enqueue(commands.add(user_token, command));
        return commands.take_ready().index;
    }
};

TEST_F(ForwarderCommandsTest, a_command_ends_once_and_its_token_names_nothing_afterwards) {
    const std::uint32_t index = running_at(1, 70, copy(theirs, mine, 8));
    const std::uint64_t token = commands.token_of(index);
    EXPECT_EQ(commands.find(token), index);
    EXPECT_EQ(commands.outstanding(), 1U);
    commands.finish(index);
    EXPECT_EQ(commands.outstanding(), 0U);
    EXPECT_EQ(commands.find(token), nobody);
    const ForwardedEnd end = only_end();
    EXPECT_EQ(end.token, 70U);
    EXPECT_EQ(end.code, Code::ok);
    EXPECT_EQ(end.message, "");
    const std::uint32_t again = running_at(1, 71, copy(theirs, mine, 8));
    EXPECT_EQ(again, index) << "the record was not used again, and shows nothing";
    EXPECT_EQ(commands.find(token), nobody) << "the token of an earlier command names this one";
    EXPECT_EQ(commands.find(token + 1), nobody);
    EXPECT_EQ(commands.find(~0ULL), nobody);
}

TEST_F(ForwarderCommandsTest, the_token_of_a_command_that_waits_names_nothing) {
    ASSERT_TRUE(commands.make_room());
    const std::uint32_t index = commands.add(1, copy(theirs, mine, 8));
    commands.enqueue(index);
    EXPECT_EQ(commands.find(commands.token_of(index)), nobody);
    EXPECT_EQ(commands.take_ready().index, index);
    EXPECT_TRUE(commands.send_to(index, 1, nobody));
    EXPECT_EQ(commands.find(commands.token_of(index)), index);
}

TEST_F(ForwarderCommandsTest, commands_become_ready_in_the_order_they_came) {
    for (std::uint64_t token = 0; token < 5; ++token) {
        ASSERT_TRUE(commands.make_room());
        commands.enqueue(commands.add(token, copy(theirs, mine, 8)));
    }
    for (std::uint64_t token = 0; token < 5; ++token) {
        ASSERT_TRUE(commands.is_any_ready());
        const ForwarderCommands::Ready ready = commands.take_ready();
        EXPECT_EQ(commands[ready.index].user_token, token);
        EXPECT_EQ(ready.queued_at, nobody);
    }
    EXPECT_FALSE(commands.is_any_ready());
}

TEST_F(ForwarderCommandsTest, a_full_receiver_gets_one_more_for_each_that_ends) {
    std::vector<std::uint32_t> sent;
    for (std::uint32_t i = 0; i < commands_in_flight_max; ++i) {
        EXPECT_FALSE(commands.is_full(1));
        sent.push_back(running_at(1, i, copy(theirs, mine, 8)));
    }
    EXPECT_TRUE(commands.is_full(1));
    EXPECT_FALSE(commands.is_full(2));
    const std::uint32_t waiting = begin(100, copy(theirs, mine, 8));
    EXPECT_FALSE(commands.send_to(waiting, 1, nobody));
    commands.start_next(1);
    EXPECT_FALSE(commands.is_any_ready());
    commands.finish(sent[5]);
    ASSERT_TRUE(commands.is_any_ready());
    const ForwarderCommands::Ready ready = commands.take_ready();
    EXPECT_EQ(ready.index, waiting);
    EXPECT_EQ(ready.queued_at, 1U);
    EXPECT_TRUE(commands.send_to(waiting, 1, nobody));
    EXPECT_TRUE(commands.is_full(1));
}

TEST_F(ForwarderCommandsTest, a_command_that_was_withdrawn_has_no_end) {
    ASSERT_TRUE(commands.make_room());
    commands.withdraw(commands.add(1, copy(theirs, mine, 8)));
    EXPECT_EQ(commands.outstanding(), 0U);
    EXPECT_TRUE(commands.ended().empty());
}

TEST_F(ForwarderCommandsTest, a_failure_names_the_wrong_address) {
    const auto words = [this](const memory::Command& command, const AccessVerdict& verdict) {
        commands.fail(begin(1, command), verdict);
        const ForwardedEnd end = only_end();
        EXPECT_EQ(end.code, verdict.code);
        return end.message;
    };
    const std::string source = words(copy(theirs, 0, 8), {Code::address, Blame::source, 0});
    EXPECT_EQ(source.rfind("the source is the null", 0), 0U) << source;
    const std::string target = words(copy(0, mine, 8), {Code::address, Blame::target, 0});
    EXPECT_EQ(target.rfind("the target is the null", 0), 0U) << target;
    const std::string word = words({memory::Operation::add, 8, 0, theirs + 4, 0, 1, 0},
                                   {Code::alignment, Blame::target, 0});
    EXPECT_EQ(word.rfind("the source is ", 0), 0U) << "it has no target: " << word;
    EXPECT_NE(word.find("no multiple of 8"), std::string::npos) << word;
}

TEST_F(ForwarderCommandsTest, a_death_ends_what_it_should_have_run_or_placed) {
    const std::uint32_t run_there = running_at(1, 1, copy(mine, theirs, 8));
    const std::uint32_t run_elsewhere = running_at(2, 2, copy(mine, theirs, 8));
    const std::uint32_t placed_there = begin(3, copy(theirs, mine, 8));
    EXPECT_TRUE(commands.send_to(placed_there, 2, 1));
    const std::uint32_t stored_there = begin(4, {memory::Operation::add, 8, theirs, mine, 0, 1, 0});
    commands.await_store(stored_there, 1);
    for (std::uint32_t i = 1; i < commands_in_flight_max; ++i) {
        (void)running_at(1, 100, copy(mine, theirs, 8));
    }
    const std::uint32_t waiting = begin(5, copy(mine, theirs, 8));
    EXPECT_FALSE(commands.send_to(waiting, 1, nobody));
    node::mark_dead(node, 1, 9);
    commands.on_death(1);
    std::set<std::uint64_t> ended;
    for (const ForwardedEnd& end : commands.ended()) {
        EXPECT_EQ(end.code, Code::peer);
        EXPECT_NE(end.message.find("SIGKILL"), std::string::npos) << end.message;
        ended.insert(end.token);
    }
    EXPECT_EQ(ended, (std::set<std::uint64_t>{1, 3, 4, 100}));
    EXPECT_EQ(commands.ended().size(), 2U + commands_in_flight_max);
    EXPECT_EQ(commands.outstanding(), 2U);
    EXPECT_EQ(commands[run_there].stage, ForwarderCommands::Stage::none);
    EXPECT_EQ(commands[run_elsewhere].stage, ForwarderCommands::Stage::running);
    ASSERT_TRUE(commands.is_any_ready())
        << "the thread that starts the command finds the process dead";
    EXPECT_EQ(commands.take_ready().index, waiting);
    EXPECT_FALSE(commands.is_any_ready());
}

TEST_F(ForwarderCommandsTest, what_it_had_room_for_ends_without_further_memory) {
    std::vector<std::uint32_t> taken;
    taken.reserve(1000);
    std::uint64_t ended = 0;
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        while (taken.size() < 1000 && commands.make_room()) {
            taken.push_back(commands.add(taken.size(), copy(0, mine, 8)));
        }
        for (const std::uint32_t index : taken) {
            commands.fail(index, {Code::address, Blame::target, 0});
        }
        for (const ForwardedEnd& end : commands.ended()) {
            EXPECT_EQ(end.code, Code::address);
            EXPECT_EQ(end.message, "") << "there was memory for words";
            ++ended;
        }
    }
    EXPECT_EQ(taken.size(), ForwarderCommands::records_min);
    EXPECT_EQ(ended, taken.size());
    EXPECT_FALSE(commands.outstanding() > 0);
}

// namespace acp::mailbox::test
}  // namespace
}  // namespace acp::mailbox::test
