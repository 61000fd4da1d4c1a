// SPDX-License-Identifier: BSD-3-Clause
// Commands that are ordered after copies and are sent before these have completed (ORD-66): the node of
// their target keeps the order, also if the network reorders. A follower sets a flag: by a copy, or by an
// invoke.
#include <array>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>

#include "router/finished_book.hpp"

#include "unit/router/fake_node.hpp"

namespace acp::router::test {
namespace {

constexpr std::uint64_t data_at = 64;
constexpr std::uint64_t flag_at = 4096;

enum class Follower { copy, invoke };

class RouterOrderTest : public testing::TestWithParam<Follower> {
protected:
    // Submits a command of process 0 that sets the flag of process 1 to the one of process 0, and is ordered
    // after `before_count` commands from `before` on.
    bool flag_after(FakeJob& job,
                    std::uint64_t token,
                    GlobalAddress target,
                    std::uint64_t before,
                    std::uint32_t before_count = 1) {
        const GlobalAddress source = job.shared(0, flag_at);
        Router& router = job.node_of(0).router;
        if (GetParam() == Follower::copy) {
            memory::Command command;
            command.target = target;
            command.source = source;
            command.bytes = 8;
            const memory::NumberedCommand one{token, &command, before, before_count};
            return router.submit_all(job.now, 0, {&one, 1}) == 1;
        }
        const auto& arguments = arguments_.emplace_back(
            std::array<std::uint64_t, 2>{target, job.at<std::uint64_t>(source)});
        return router.invoke(job.now, {token, 0, store_operation, 1, 0, before, before_count},
                             std::as_bytes(std::span(arguments)));
    }

private:
    static constexpr std::uint32_t store_operation = 4;  // FakeMemory::invoke

    std::deque<std::array<std::uint64_t, 2>> arguments_;  // invokes read them until they complete
};

INSTANTIATE_TEST_SUITE_P(followers,
                         RouterOrderTest,
                         testing::Values(Follower::copy, Follower::invoke),
                         [](const auto& one) {
                             return std::string(one.param == Follower::copy ? "copy" : "invoke");
                         });

std::vector<std::uint64_t> tokens_of(const FakeJob& job) {
    std::vector<std::uint64_t> tokens;
    for (const CommandEnd& end : job.nodes[0]->ends.ended) tokens.push_back(end.token);
    return tokens;
}

TEST_P(RouterOrderTest, sends_a_flag_with_its_data) {
    FakeJob job({1, 1}, 1, {1436, 4, 100});
    job.at<std::uint64_t>(job.shared(0, data_at)) = 5;
    job.at<std::uint64_t>(job.shared(0, flag_at)) = 6;
    ASSERT_TRUE(job.copy(0, 2, job.shared(1, data_at), job.shared(0, data_at), 8));
    ASSERT_TRUE(flag_after(job, 4, job.shared(1, flag_at), 2));
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1, flag_at)), 6U);
    EXPECT_EQ(tokens_of(job), (std::vector<std::uint64_t>{2, 4}));
    EXPECT_EQ(job.nodes[0]->router.counters().resends, 0U);
    EXPECT_EQ(job.network.delivered(), 2U);  // data and flag, and one answer for both
    EXPECT_TRUE(job.is_idle());
}

// The network reorders by the seed; private memory settles late, and sometimes refuses.
TEST_P(RouterOrderTest, shows_no_flag_before_its_data_whatever_the_network_reorders) {
    std::uint64_t refused = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        MemorySettings memory;
        memory.later_percent = 50;
        memory.refuse_percent = 20;
        FakeJob job({1, 1}, seed, {600, 6, 40}, memory);
        const bool is_private = seed % 2 == 0;
        const auto target = [&](std::uint64_t offset) {
            return is_private ? job.private_at(1, offset) : job.shared(1, offset);
        };
        constexpr std::uint64_t data_bytes = 1504;  // several pieces
        for (std::uint64_t value = 1; value <= 5; ++value) {
            const std::uint64_t token = 8 * value;
            job.at<std::uint64_t>(job.shared(0, data_at)) = value;
            job.at<std::uint64_t>(job.shared(0, data_at + data_bytes - 8)) = value;
            job.at<std::uint64_t>(job.shared(0, flag_at)) = value;
            ASSERT_TRUE(job.copy(0, token, target(data_at), job.shared(0, data_at), data_bytes));
            ASSERT_TRUE(job.copy(0, token + 2, target(data_at + 2000), job.shared(0, data_at), 8));
            ASSERT_TRUE(flag_after(job, token + 4, target(flag_at), token, 2));
            while (job.nodes[0]->router.outstanding() != 0) {
                job.step();
                if (job.at<std::uint64_t>(target(flag_at)) != value) continue;
                ASSERT_EQ(job.at<std::uint64_t>(target(data_at)), value) << seed;
                ASSERT_EQ(job.at<std::uint64_t>(target(data_at + data_bytes - 8)), value) << seed;
                ASSERT_EQ(job.at<std::uint64_t>(target(data_at + 2000)), value) << seed;
            }
            ASSERT_EQ(job.at<std::uint64_t>(target(flag_at)), value);
        }
        ASSERT_TRUE(job.run());
        const auto& ended = job.nodes[0]->ends.ended;
        ASSERT_EQ(ended.size(), 15U) << seed;
        for (std::size_t i = 0; i < ended.size(); ++i) {
            EXPECT_EQ(ended[i].code, Code::ok);
            if (i % 3 != 2) continue;
            EXPECT_EQ(ended[i].token, 8 * (i / 3 + 1) + 4) << seed;  // a flag completes last
        }
        EXPECT_TRUE(job.is_idle()) << seed;
        refused += job.nodes[0]->router.counters().resends;
    }
    EXPECT_GT(refused, 0U);
}

TEST_P(RouterOrderTest, runs_nothing_behind_a_failure) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        FakeJob job({1, 1}, seed);
        job.at<std::uint64_t>(job.shared(0, flag_at)) = 6;
        const std::uint64_t beyond = 1U << 16;
        ASSERT_TRUE(job.copy(0, 2, job.shared(1, beyond), job.shared(0), 8));
        ASSERT_TRUE(job.copy(0, 4, job.shared(1, data_at), job.shared(0), 8));
        ASSERT_TRUE(flag_after(job, 6, job.shared(1, flag_at), 2, 2));
        ASSERT_TRUE(job.run());
        EXPECT_EQ(job.at<std::uint64_t>(job.shared(1, flag_at)), 0U);
        ASSERT_EQ(job.nodes[0]->ends.ended.size(), 3U);
        for (const CommandEnd& end : job.nodes[0]->ends.ended) {
            EXPECT_EQ(end.code, end.token == 2   ? Code::address
                                : end.token == 4 ? Code::ok
                                                 : Code::order);
        }
        EXPECT_TRUE(job.is_idle());
    }
}

TEST_P(RouterOrderTest, a_follower_that_fails_ends_after_what_it_follows) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        FakeJob job({1, 1}, seed);
        const std::uint64_t beyond = 1U << 16;
        ASSERT_TRUE(job.copy(0, 2, job.shared(1, data_at), job.shared(0), 8));
        ASSERT_TRUE(flag_after(job, 4, job.shared(1, beyond), 2));
        ASSERT_TRUE(job.run());
        EXPECT_EQ(tokens_of(job), (std::vector<std::uint64_t>{2, 4})) << seed;
        EXPECT_EQ(job.nodes[0]->ends.ended.front().code, Code::ok);
        EXPECT_NE(job.nodes[0]->ends.ended.back().code, Code::ok);
        EXPECT_TRUE(job.is_idle());
    }
}

TEST_P(RouterOrderTest, ends_what_is_behind_a_severed_node_once) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        FakeJob job({1, 1}, seed);
        ASSERT_TRUE(job.copy(0, 2, job.shared(1, data_at), job.shared(0), 8));
        ASSERT_TRUE(flag_after(job, 4, job.shared(1, flag_at), 2));
        if (seed % 2 == 0) job.step();
        job.network.cut(0, 1);
        ASSERT_TRUE(job.run());
        ASSERT_EQ(job.nodes[0]->ends.ended.size(), 2U) << seed;
        EXPECT_EQ(job.nodes[0]->router.outstanding(), 0U);
    }
}

TEST_P(RouterOrderTest, waits_while_nothing_can_be_sent) {
    FakeJob job({1, 1}, 3, {1436, 1, 50});  // room for one datagram in flight
    job.at<std::uint64_t>(job.shared(0, flag_at)) = 6;
    for (std::uint64_t token = 2; token <= 16; token += 2) {
        ASSERT_TRUE(job.copy(0, token, job.shared(1, 8192), job.shared(0), 4000));
    }
    ASSERT_TRUE(flag_after(job, 18, job.shared(1, flag_at), 2, 8));
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1, flag_at)), 6U);
    EXPECT_EQ(tokens_of(job).back(), 18U);
}

// A long copy is sent piece by piece: what follows it leaves behind its last piece, and is not refused.
TEST_P(RouterOrderTest, leaves_behind_the_last_piece_of_a_long_copy) {
    FakeJob job({1, 1}, 1, {1436, 1, 100});
    job.at<std::uint64_t>(job.shared(0, flag_at)) = 6;
    ASSERT_TRUE(job.copy(0, 2, job.shared(1, 8192), job.shared(0), 20000));
    ASSERT_TRUE(flag_after(job, 4, job.shared(1, flag_at), 2));
    ASSERT_TRUE(job.run());
    EXPECT_EQ(job.at<std::uint64_t>(job.shared(1, flag_at)), 6U);
    EXPECT_EQ(tokens_of(job), (std::vector<std::uint64_t>{2, 4}));
    // A copy waits for a next try instead.
    EXPECT_EQ(job.nodes[0]->router.counters().resends, GetParam() == Follower::copy ? 1U : 0U);
    EXPECT_TRUE(job.is_idle());
}

TEST(FinishedBookTest, proves_only_what_was_noted) {
    FinishedBook book;
    EXPECT_FALSE(book.has_all(0, 0, 1));
    book.note(3, 8);
    book.note(3, 10);
    EXPECT_TRUE(book.has_all(3, 8, 2));
    EXPECT_FALSE(book.has_all(3, 8, 3));
    EXPECT_FALSE(book.has_all(3, 6, 2));
    EXPECT_FALSE(book.has_all(2, 8, 1));
    book.note(3, 8 + 2 * FinishedBook::places);  // replaces the entry of 8
    EXPECT_FALSE(book.has_all(3, 8, 1));
    EXPECT_TRUE(book.has_all(3, 10, 1));
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
