// SPDX-License-Identifier: BSD-3-Clause
// Lines between launcher and agent over a real pair of sockets.
#include "launch/line_channel.hpp"

#include <algorithm>
#include <gtest/gtest.h>

#include "os/pipe.hpp"
#include "os/thread.hpp"

namespace acp::launch::test {
namespace {

struct Ends {
    LineChannel launcher;
    LineChannel agent;
};

Ends connect() {
    auto pair = os::make_stream_pair();
    EXPECT_TRUE(pair.is_ok());
    return {LineChannel(std::move(pair.value().near)), LineChannel(std::move(pair.value().far))};
}

// The next line, after any time; "gone" if the other side has closed.
std::string line_from(LineChannel& channel) {
    for (;;) {
        if (auto line = channel.next_line()) return *line;
        if (!channel.receive().is_ok()) return "gone";
    }
}

TEST(LineChannelTest, carries_a_plan_of_any_size_and_then_lines_both_ways) {
    for (const std::size_t bytes : {0UL, 1UL, 4096UL, 3'000'000UL}) {
        Ends ends = connect();
        const std::string plan(bytes, '\n');
        auto sender = os::Thread::start("sender", [&] {
            EXPECT_TRUE(ends.launcher.send_plan(plan).is_ok());
            ends.launcher.send("signal 2");
        });
        ASSERT_TRUE(sender.is_ok());
        const auto received = ends.agent.receive_plan();
        ASSERT_TRUE(received.is_ok());
        EXPECT_EQ(received.value(), plan);
        EXPECT_EQ(line_from(ends.agent), "signal 2");
        ends.agent.send(std::string(1000, 'x'));
        ends.agent.send("");
        EXPECT_EQ(line_from(ends.launcher), std::string(1000, 'x'));
        EXPECT_EQ(line_from(ends.launcher), "");
    }
}

TEST(LineChannelTest, refuses_what_is_no_plan) {
    for (const char* first : {"plan", "plan x", "plan -1", "plan 67108865", "signal 2", ""}) {
        Ends ends = connect();
        ends.launcher.send(first);
        const auto received = ends.agent.receive_plan();
        ASSERT_FALSE(received.is_ok()) << first;
        EXPECT_EQ(received.failure().code(), base::Code::argument);
    }
}

JobKey some_key() {
    auto made = JobKey::create();
    EXPECT_TRUE(made.is_ok());
    JobKey key = std::move(made).value();
    for (std::size_t i = 0; i < job_key_bytes; ++i) key.bytes()[i] = static_cast<std::byte>(i * 7);
    return key;
}

TEST(LineChannelTest, the_key_comes_first_and_the_plan_after_it) {
    Ends ends = connect();
    JobKey expected = some_key();
    ASSERT_TRUE(ends.launcher.send_key(expected).is_ok());
    ASSERT_TRUE(ends.launcher.send_plan("version=2").is_ok());
    ends.launcher.send("kill");
    auto key = ends.agent.receive_key();
    ASSERT_TRUE(key.is_ok()) << key.failure().message();
    EXPECT_TRUE(
        std::equal(expected.bytes().begin(), expected.bytes().end(), key.value().bytes().begin()));
    const auto plan = ends.agent.receive_plan();
    ASSERT_TRUE(plan.is_ok());
    EXPECT_EQ(plan.value(), "version=2");
    EXPECT_EQ(line_from(ends.agent), "kill");
}

TEST(LineChannelTest, what_is_no_key_is_refused_before_it_is_whole) {
    for (const char* first : {"plan 3", "key 33", "k3y", "x"}) {
        Ends ends = connect();
        ends.launcher.send(first);
        const auto key = ends.agent.receive_key();
        ASSERT_FALSE(key.is_ok()) << first;
        EXPECT_EQ(key.failure().code(), base::Code::argument) << first;
    }
    Ends ends = connect();
    ends.launcher.send("key 32");
    { const LineChannel gone = std::move(ends.launcher); }
    EXPECT_EQ(ends.agent.receive_key().failure().code(), base::Code::peer);
}

TEST(LineChannelTest, bytes_in_the_middle_are_taken_when_all_are_there) {
    Ends ends = connect();
    ASSERT_TRUE(ends.launcher.send_block("peers", "a\nb").is_ok());
    EXPECT_EQ(line_from(ends.agent), "peers 3");
    EXPECT_EQ(ends.agent.take_bytes(4), std::nullopt);
    EXPECT_EQ(ends.agent.take_bytes(3), "a\nb");
    EXPECT_EQ(ends.agent.take_bytes(0), "");
    EXPECT_EQ(ends.agent.take_bytes(1), std::nullopt);
}

TEST(LineChannelTest, reports_the_end_of_the_other_side_after_its_last_line) {
    Ends ends = connect();
    ends.launcher.send("kill");
    { const LineChannel gone = std::move(ends.launcher); }
    EXPECT_EQ(line_from(ends.agent), "kill");
    EXPECT_EQ(ends.agent.receive().code(), base::Code::peer);
    EXPECT_EQ(ends.agent.next_line(), std::nullopt);
}

}  // namespace
}  // namespace acp::launch::test
