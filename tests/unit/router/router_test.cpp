// SPDX-License-Identifier: BSD-3-Clause
// One rule of the router per test: the path of frames and the time of completions, over nodes of
// arrays on a quiet network.
#include "router/router.hpp"

#include <cstring>
#include <gtest/gtest.h>

#include "unit/router/fake_node.hpp"

namespace acp::router::test {
namespace {

TEST(RouterTest, puts_into_memory_of_another_node) {
    FakeJob job({1, 1});
    job.at<std::uint64_t>(job.shared(0, 64)) = 0x1234'5678'9abc'def0;
    ASSERT_TRUE(job.copy(0, 2, job.shared(1, 8), job.shared(0, 64), 8));
    EXPECT_EQ(job.nodes[0]->router.outstanding_of(0), 1U);
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1, 8)), 0x1234'5678'9abc'def0U);
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].token, 2U);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].code, Code::ok);
    EXPECT_EQ(job.nodes[0]->router.outstanding(), 0U);
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterTest, gets_from_memory_of_another_node) {
    FakeJob job({1, 1});
    job.at<std::uint32_t>(job.shared(1, 4)) = 77;
    ASSERT_TRUE(job.copy(0, 2, job.shared(0, 12), job.shared(1, 4), 4));
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint32_t>(job.shared(0, 12)), 77U);
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterTest, copies_between_two_other_nodes_once_across_the_network) {
    FakeJob job({1, 1, 1});
    job.at<std::uint32_t>(job.shared(1)) = 5;
    ASSERT_TRUE(job.copy(0, 2, job.shared(2), job.shared(1), 4));
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint32_t>(job.shared(2)), 5U);
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_EQ(job.network.delivered(), 3U);  // the command, the piece, the end
}

TEST(RouterTest, copies_between_two_processes_of_one_other_node_without_sending_the_bytes) {
    FakeJob job({1, 2});
    job.at<std::uint32_t>(job.shared(1)) = 6;
    ASSERT_TRUE(job.copy(0, 2, job.shared(2), job.shared(1), 4));
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint32_t>(job.shared(2)), 6U);
    EXPECT_EQ(job.nodes[1]->router.counters().puts_sent, 0U);
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 1U);
}

TEST(RouterTest, cuts_a_long_copy_and_ends_it_once) {
    FakeJob job({1, 1}, 7);
    for (std::uint32_t i = 0; i < 10'000; ++i)
        job.at<std::uint8_t>(job.shared(0, i)) = static_cast<std::uint8_t>(i % 251);
    ASSERT_TRUE(job.copy(0, 2, job.shared(1, 100), job.shared(0), 10'000));
    ASSERT_TRUE(job.run());
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        ASSERT_EQ(job.at<std::uint8_t>(job.shared(1, 100 + i)), i % 251) << i;
    }
    EXPECT_EQ(job.at<std::uint8_t>(job.shared(1, 99)), 0);
    EXPECT_EQ(job.at<std::uint8_t>(job.shared(1, 10'100)), 0);
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_EQ(job.nodes[0]->router.counters().puts_sent, 8U);
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterTest, copies_nothing_and_ends) {
    FakeJob job({1, 1, 1});
    ASSERT_TRUE(job.copy(0, 2, job.shared(1), job.shared(0), 0));
    ASSERT_TRUE(job.copy(0, 4, job.shared(0), job.shared(1), 0));
    ASSERT_TRUE(job.copy(0, 6, job.shared(2), job.shared(1), 0));
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 3U);
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterTest, runs_an_atomic_at_its_word_and_returns_the_old_value_to_the_initiator) {
    FakeJob job({1, 1});
    job.at<std::uint64_t>(job.shared(1, 16)) = 40;
    ASSERT_TRUE(job.add(0, 2, job.shared(0, 8), job.shared(1, 16), 2));
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1, 16)), 42U);
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(0, 8)), 40U);
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 1U);
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterTest, sends_the_old_value_of_an_atomic_to_a_third_node) {
    FakeJob job({1, 1, 1});
    job.at<std::uint64_t>(job.shared(1)) = 9;
    ASSERT_TRUE(job.add(0, 2, job.shared(2, 8), job.shared(1), 1));
    job.at<std::uint64_t>(job.shared(0)) = 3;
    ASSERT_TRUE(job.add(0, 4, job.shared(2, 16), job.shared(0), 1));  // the word is its own
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(2, 8)), 9U);
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(2, 16)), 3U);
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(0)), 4U);
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 2U);
    EXPECT_TRUE(job.is_idle());
}

// One END completes all of them, while each old value would take a VALUE frame; and no frame goes
// to the process of the null address.
TEST(RouterTest, completes_atomics_without_a_target_together) {
    FakeJob job({1, 1, 1});
    job.at<std::uint64_t>(job.shared(2, 16)) = 40;
    job.at<std::uint64_t>(job.shared(1, 16)) = 7;
    for (std::uint64_t i = 1; i <= 30; ++i) {
        ASSERT_TRUE(job.add(1, 2 * i, 0, job.shared(2, 16), 1));
    }
    ASSERT_TRUE(job.add(1, 62, 0, job.shared(1, 16), 1));  // its own
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(2, 16)), 70U);
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1, 16)), 8U);
    for (const CommandEnd& end : job.nodes[1]->ends.ended) EXPECT_EQ(end.code, Code::ok);
    EXPECT_EQ(job.nodes[1]->ends.ended.size(), 31U);
    EXPECT_LE(job.nodes[1]->ends.calls, 3U);
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterTest, compresses_ends_of_consecutive_commands_into_one) {
    FakeJob job({1, 1});
    for (std::uint64_t i = 1; i <= 30; ++i) {
        ASSERT_TRUE(job.copy(0, 2 * i, job.shared(1, 8 * i), job.shared(0), 8));
    }
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 30U);
    EXPECT_EQ(job.nodes[0]->ends.calls, 1U);
}

TEST(RouterTest, ends_a_copy_to_a_bad_address_with_a_code_that_names_the_end) {
    FakeJob job({1, 1, 1});
    const std::uint64_t beyond = 1U << 16;
    ASSERT_TRUE(job.copy(0, 2, job.shared(1, beyond), job.shared(0), 8));
    ASSERT_TRUE(job.copy(0, 4, job.shared(0), job.shared(1, beyond - 7), 8));
    ASSERT_TRUE(job.copy(0, 6, job.shared(2), job.shared(1, beyond), 8));
    ASSERT_TRUE(job.copy(0, 8, job.shared(1), job.shared(0, beyond), 8));
    ASSERT_TRUE(job.copy(0, 10, job.shared(1, beyond - 3000), job.shared(0), 6000));
    ASSERT_TRUE(job.run());
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 5U);
    for (const CommandEnd& end : job.nodes[0]->ends.ended) {
        EXPECT_EQ(end.code, Code::address) << end.token;
        const bool is_target = end.token == 2 || end.token == 10;
        EXPECT_EQ(end.blamed, is_target ? BlamedAddress::target : BlamedAddress::source)
            << end.token;
        EXPECT_EQ(end.process, end.token == 8 ? 0U : 1U) << end.token;
    }
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterTest, ends_a_command_whose_address_names_no_process) {
    FakeJob job({1, 1, 1});  // addresses have room for a fourth process
    ASSERT_TRUE(job.copy(0, 2, job.shared(3), job.shared(0), 8));
    ASSERT_TRUE(job.copy(0, 4, job.shared(1), job.shared(3), 8));
    ASSERT_EQ(job.nodes[0]->ends.ended.size(), 2U);
    EXPECT_EQ(job.nodes[0]->ends.ended[0].blamed, BlamedAddress::target);
    EXPECT_EQ(job.nodes[0]->ends.ended[1].blamed, BlamedAddress::source);
    EXPECT_TRUE(job.is_idle());
}

TEST(RouterTest, takes_no_more_commands_than_it_has_room_for) {
    RouterSettings settings;
    settings.commands_max = 3;
    FakeJob job({1, 1}, 1, {}, {}, settings);
    for (std::uint64_t token = 2; token <= 6; token += 2) {
        ASSERT_TRUE(job.copy(0, token, job.shared(1), job.shared(0), 8));
    }
    EXPECT_FALSE(job.copy(0, 8, job.shared(1), job.shared(0), 8));
    ASSERT_TRUE(job.run());
    EXPECT_TRUE(job.copy(0, 8, job.shared(1), job.shared(0), 8));
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.nodes[0]->ends.ended.size(), 4U);
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
