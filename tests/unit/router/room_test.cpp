// SPDX-License-Identifier: BSD-3-Clause
// Little room: at the endpoint, at a process, for work. No command is lost, no process waits for
// another one's long copy, and kept bytes are bounded. And operations that placement refuses for
// now.
#include <algorithm>
#include <gtest/gtest.h>

#include "router/frames.hpp"

#include "unit/router/fake_node.hpp"

namespace acp::router::test {
namespace {

// ORD-50
TEST(RouterRoomTest, lets_a_short_put_past_another_processes_long_copy) {
    NetworkSettings narrow;
    narrow.datagrams_max = 2;
    FakeJob job({2, 1}, 5, narrow);
    ASSERT_TRUE(job.copy(0, 2, job.shared(2), job.shared(0), 60'000));
    job.step();
    ASSERT_TRUE(job.copy(1, 2, job.shared(2, 60'008), job.shared(1), 8));
    ASSERT_TRUE(job.run());
    const std::vector<CommandEnd>& ended = job.nodes[0]->ends.ended;
    ASSERT_EQ(ended.size(), 2U);
    EXPECT_EQ(ended[0].initiator, 1U) << "the short one waited for the long one";
}

TEST(RouterRoomTest, gives_each_process_the_same_share_whatever_it_asks_for) {
    NetworkSettings narrow;
    narrow.datagrams_max = 1;
    FakeJob job({2, 1}, 5, narrow);
    // Nine long copies of one process, one of the other.
    for (std::uint64_t i = 1; i <= 9; ++i) {
        ASSERT_TRUE(job.copy(0, 2 * i, job.shared(2), job.shared(0), 28'000));
    }
    ASSERT_TRUE(job.copy(1, 2, job.shared(2, 30'000), job.shared(1), 28'000));
    ASSERT_TRUE(job.run());
    const std::vector<CommandEnd>& ended = job.nodes[0]->ends.ended;
    ASSERT_EQ(ended.size(), 10U);
    EXPECT_EQ(ended[0].initiator, 1U) << "one of ten had a tenth, not a half";
}

// ORD-51: pieces for which a process has no room are kept up to a limit, then refused, and sent
// again.
TEST(RouterRoomTest, keeps_no_more_for_a_process_than_the_limit) {
    RouterSettings settings;
    settings.undelivered_bytes_max = 3 * (1000 + 128);
    MemorySettings full;
    full.refuse_percent = 100;
    FakeJob job({1, 1}, 2, {}, full, settings);
    for (std::uint64_t i = 1; i <= 10; ++i) {
        ASSERT_TRUE(job.copy(0, 2 * i, job.private_at(1, i * 1000), job.shared(0), 1000));
    }
    for (int i = 0; i < 100; ++i) job.step();
    EXPECT_EQ(job.nodes[1]->router.counters().puts_kept, 3U);
    EXPECT_GE(job.nodes[1]->router.counters().puts_refused, 7U);
    EXPECT_TRUE(job.nodes[0]->ends.ended.empty());
    job.nodes[1]->memory.settings().refuse_percent = 0;
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 10U);
    EXPECT_GE(job.nodes[0]->router.counters().resends, 7U);
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterRoomTest, does_not_hold_up_shared_memory_behind_full_private_memory) {
    MemorySettings full;
    full.refuse_percent = 100;
    FakeJob job({1, 1}, 2, {}, full);
    ASSERT_TRUE(job.copy(0, 2, job.private_at(1), job.shared(0), 5000));
    ASSERT_TRUE(job.copy(0, 4, job.shared(1), job.shared(0), 5000));
    for (int i = 0; i < 100; ++i) job.step();
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].token, 4U);
}

TEST(RouterRoomTest, asks_placement_again_as_soon_as_it_is_notified_of_room) {
    MemorySettings full;
    full.refuse_percent = 100;
    FakeJob job({1, 1}, 2, {}, full);
    ASSERT_TRUE(job.copy(0, 2, job.private_at(1), job.shared(0), 8));
    for (int i = 0; i < 200; ++i) job.step();
    job.nodes[1]->memory.settings().refuse_percent = 0;
    Router& router = job.nodes[1]->router;
    EXPECT_GT(router.deadline(), 0U);
    router.on_place_room(1);
    EXPECT_EQ(router.deadline(), 0U);
    EXPECT_TRUE(router.poll(job.now));
    EXPECT_EQ(router.counters().bytes_placed, 8U);
}

// ORD-62: an atomic runs once, also if it was refused or its value had to wait.
TEST(RouterRoomTest, runs_an_atomic_once_however_often_there_was_no_room) {
    RouterSettings settings;
    settings.executions_max = 1;
    settings.undelivered_bytes_max = 0;
    MemorySettings busy;
    busy.refuse_percent = 80;
    busy.later_percent = 50;
    FakeJob job({1, 1, 1, 1}, 11, {}, busy, settings);
    for (std::uint64_t i = 1; i <= 40; ++i) {
        const auto initiator = static_cast<std::uint32_t>(i % 4);
        ASSERT_TRUE(job.add(initiator, 2 * i, job.private_at((initiator + 1) % 4, 8 * i),
                            job.private_at((initiator + 2) % 4), 1));
        for (int rounds = 0; rounds < 20; ++rounds) job.step();
    }
    ASSERT_TRUE(job.run());
    std::uint64_t total = 0;
    for (std::uint32_t process = 0; process < 4; ++process) {
        total += job.at<std::uint64_t>(job.private_at(process));
        for (const CommandEnd& end : job.nodes[process]->ends.ended) EXPECT_EQ(end.code, Code::ok);
    }
    EXPECT_EQ(total, 40U);
    EXPECT_TRUE(job.is_idle());
}

// ORD-51: a node that takes no ends is severed before they fill the memory.
TEST(RouterRoomTest, severs_a_node_that_lets_no_ends_be_sent) {
    RouterSettings settings;
    settings.notes_max = 10;
    NetworkSettings none;
    none.datagrams_max = 0;
    FakeJob job({1, 1}, 1, none, {}, settings);
    for (std::uint64_t i = 1; i <= 40; ++i) {
        PutFrame frame;
        frame.token = 4 * i;  // not consecutive: an end each
        frame.target = job.shared(1);
        std::vector<std::byte> bytes(sizeof frame);
        write(bytes.data(), frame);
        job.network.inject(0, 1, bytes);
        job.nodes[1]->router.poll(job.now);
    }
    EXPECT_TRUE(job.network.endpoint(1).is_severed(0));
    EXPECT_EQ(job.nodes[1]->router.counters().ends_overflows, 1U);
    EXPECT_TRUE(job.nodes[1]->router.is_idle());
}

std::vector<std::byte> arguments(std::size_t bytes) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 3);
    return made;
}

TEST(RouterInvokeTest, runs_an_operation_at_the_node_of_its_process_and_brings_the_result_back) {
    FakeJob job({1, 2});
    const std::vector<std::byte> given = arguments(invoke_bytes_max);
    ASSERT_TRUE(job.nodes[0]->router.invoke(job.now, {2, 0, 0, 2}, given));
    ASSERT_TRUE(job.nodes[0]->router.invoke(job.now, {4, 0, 1, 1}, {}));  // refused three times
    // an invoke of a process of its own node
    ASSERT_TRUE(job.nodes[1]->router.invoke(job.now, {2, 1, 0, 2}, given));
    ASSERT_TRUE(job.run());
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 2U);
    ASSERT_EQ(job.nodes[0]->ends.results.size(), 2U);
    EXPECT_EQ(job.nodes[0]->ends.results[0].second, given);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].value, invoke_bytes_max);
    ASSERT_EQ(job.nodes[1]->ends.results.size(), 1U);
    EXPECT_EQ(job.nodes[1]->ends.results[0].second, given);
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterInvokeTest, returns_the_failure_of_an_operation) {
    FakeJob job({1, 1});
    ASSERT_TRUE(job.nodes[0]->router.invoke(job.now, {2, 0, 2, 1}, {}));
    ASSERT_TRUE(job.run());
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].code, Code::alignment);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].process, 1U);
    EXPECT_TRUE(job.nodes[0]->ends.results.empty());
}

TEST(RouterInvokeTest, takes_as_many_as_it_has_room_for_and_refuses_more) {
    RouterSettings settings;
    settings.invokes_max = 2;
    settings.commands_max = 3;
    FakeJob job({1, 1, 1}, 1, {}, {}, settings);
    const std::vector<std::byte> short_one = arguments(10);
    const std::vector<std::byte> long_one = arguments(20);
    // Two nodes have three outstanding invokes each; the third node keeps two of the six, and their
    // nodes send the others again.
    for (std::uint32_t node : {0U, 1U}) {
        ASSERT_TRUE(job.nodes[node]->router.invoke(job.now, {2, node, 1, 2}, short_one));
        ASSERT_TRUE(job.nodes[node]->router.invoke(job.now, {4, node, 1, 2}, long_one));
        ASSERT_TRUE(job.nodes[node]->router.invoke(job.now, {6, node, 0, 2}, long_one));
        ASSERT_FALSE(job.nodes[node]->router.invoke(job.now, {8, node, 1, 2}, {}));
    }
    ASSERT_TRUE(job.run());
    for (std::uint32_t node : {0U, 1U}) {
        EXPECT_EQ(job.nodes[node]->ends.results.size(), 3U);
        for (const auto& [token, result] : job.nodes[node]->ends.results) {
            EXPECT_EQ(result, token == 2 ? short_one : long_one);
        }
    }
    EXPECT_TRUE(job.is_idle());
}

// The endpoint sends such a frame in a separate datagram, which the network may fragment.
TEST(RouterInvokeTest, sends_what_is_longer_than_the_path_carries_whole) {
    NetworkSettings small;
    small.datagram_bytes = 500;
    FakeJob job({1, 1}, 1, small);
    const std::vector<std::byte> given = arguments(1024);
    ASSERT_TRUE(job.nodes[0]->router.invoke(job.now, {2, 0, 0, 1}, given));
    ASSERT_TRUE(job.run());
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].code, Code::ok);
    EXPECT_EQ(job.nodes[0]->ends.results.size(), 1U);
    EXPECT_TRUE(job.is_idle());
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
