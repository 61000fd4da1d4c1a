// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a rank that receives and sends, at random moments, and SIGSTOP of one on a node of its own: both partners are refused in time, the receiver has got every message whole
// and in order, nothing of the channels stays in their heaps, and they go on with each other. A driver: the ranks are channel_victim.
// TEST_TRIALS sets how often it strikes, TEST_NODES over how many nodes; seeds are printed and taken from TEST_SEED.
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>

#include "channel/kill_board.hpp"
#include "support/board.hpp"
#include "support/clock.hpp"
#include "support/job.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::int64_t patience_ns = 90 * second_ns;
// Erased entries of the map by which ends find each other, which are freed a batch at a time.
constexpr std::int64_t blocks_kept_max = 24;

int number_of(const char* variable, int otherwise) {
    const char* given = std::getenv(variable);
    return given == nullptr ? otherwise : std::atoi(given);
}

class ChannelKillTest : public ::testing::Test {
protected:
    void SetUp() override { adopt_orphans(); }

    void TearDown() override { arm_watchdog(0, ""); }

    static void await_work(const ChannelBoard& board, const Job& job) {
        const std::int64_t deadline = now_ns() + patience_ns;
        for (const ChannelNote& note : board.ranks) {
            while (note.is_at_work.load(std::memory_order_acquire) == 0) {
                ASSERT_LT(now_ns(), deadline) << "a rank does not begin:\n" << job.output();
                sched_yield();
            }
        }
    }

    static JobOptions options_for(int nodes, const Board<ChannelBoard>& board) {
        JobOptions options;
        options.ranks = channel_ranks;
        options.launcher = {"--on-failure=continue", "--heap-size", "32M", "--nodes",
                            std::to_string(nodes)};
        options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/channel_victim"};
        options.environment = {board.environment_entry(), "ACP_ON_ERROR=return"};
        return options;
    }

    // Both partners have been refused, so long after the victim was struck.
    static void expect_refused(const ChannelBoard& board,
                               std::int64_t struck_at_ns,
                               std::int64_t least_ns,
                               std::int64_t most_ns) {
        for (const int rank : {0, 2}) {
            const ChannelNote& note = board.ranks[rank];
            EXPECT_STREQ(note.message, "") << "rank " << rank;
            const std::int64_t took_ns =
                note.refused_at_ns.load(std::memory_order_relaxed) - struck_at_ns;
            EXPECT_GT(took_ns, least_ns) << "rank " << rank;
            EXPECT_LT(took_ns, most_ns) << "rank " << rank;
            EXPECT_LE(note.blocks_left.load(std::memory_order_relaxed), blocks_kept_max)
                << "rank " << rank;
        }
    }

    static void expect_ended(Job& job) {
        EXPECT_EQ(job.wait_ended(patience_ns), 137) << job.output() << job.describe_living();
        EXPECT_EQ(job.output().find("failed that no"), std::string::npos)
            << "acp_finalize tells of what channels had under way:\n"
            << job.output();
        EXPECT_TRUE(job.wait_gone(patience_ns).has_value()) << job.describe_living();
    }

    static void strike_once(std::uint64_t seed, int nodes) {
        Random random(seed);
        const auto board = Board<ChannelBoard>::create();
        Job job(options_for(nodes, board));
        await_work(*board, job);
        if (HasFatalFailure()) return;
        // The clock is the moment to strike, not a wait for an event.
        const std::int64_t until =
            now_ns() + static_cast<std::int64_t>(random.below(10 * millisecond_ns));
        while (now_ns() < until) sched_yield();
        const std::int64_t struck_at_ns = now_ns();
        const pid_t victim = board->ranks[victim_rank].process.load(std::memory_order_relaxed);
        ASSERT_EQ(kill(victim, SIGKILL), 0) << victim;
        expect_ended(job);
        expect_refused(*board, struck_at_ns, 0, (nodes == 1 ? 1 : 2) * second_ns);
    }
};

// A rank that is alone on its node and stopped answers nobody: after ACP_PEER_TIMEOUT its partners are refused.
TEST_F(ChannelKillTest, partners_of_a_severed_node_are_refused_and_lose_nothing) {
    if (number_of("TEST_NODES", 1) != channel_ranks) {
        GTEST_SKIP() << "needs a node for each rank";
    }
    arm_watchdog(240, "a job of which a rank is stopped");
    constexpr std::int64_t peer_timeout_ns = 2 * second_ns;
    const auto board = Board<ChannelBoard>::create();
    JobOptions options = options_for(channel_ranks, board);
    options.environment.emplace_back("ACP_PEER_TIMEOUT=2");
    Job job(options);
    await_work(*board, job);
    if (HasFatalFailure()) return;
    const pid_t victim = board->ranks[victim_rank].process.load(std::memory_order_relaxed);
    const std::int64_t struck_at_ns = now_ns();
    ASSERT_EQ(kill(victim, SIGSTOP), 0) << victim;
    for (const int rank : {0, 2}) {
        while (board->ranks[rank].has_ended.load(std::memory_order_acquire) == 0) sched_yield();
    }
    ASSERT_EQ(kill(victim, SIGKILL), 0) << victim;
    expect_ended(job);
    expect_refused(*board, struck_at_ns, peer_timeout_ns / 2, peer_timeout_ns + 4 * second_ns);
}

TEST_F(ChannelKillTest, partners_are_refused_and_lose_nothing) {
    const char* given = std::getenv("TEST_SEED");
    const std::uint64_t seed = given == nullptr ? fresh_seed() : std::strtoull(given, nullptr, 0);
    const int nodes = number_of("TEST_NODES", 1);
    const int trials = number_of("TEST_TRIALS", 10);
    for (int trial = 0; trial < trials && !HasFailure(); ++trial) {
        arm_watchdog(240, "a job of which a rank is killed");
        SCOPED_TRACE("trial " + std::to_string(trial) +
                     ", TEST_SEED=" + std::to_string(seed + static_cast<std::uint64_t>(trial)));
        strike_once(seed + static_cast<std::uint64_t>(trial), nodes);
    }
}

}  // namespace
}  // namespace acp::test
