// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a rank that receives and sends, at random moments, and SIGSTOP of one on a node of its
// own: requests of both partners fail in time, the receiver has got every message whole and in
// order, no block of the channels leaks in their heaps, and the partners exchange messages
// afterwards. A driver (support/kill_driver.hpp): the ranks are channel_victim.
#include "channel/kill_board.hpp"
#include "support/kill_driver.hpp"

namespace acp::test {
namespace {

// Erased entries of the map in which ends find their partners; they are reclaimed in batches.
constexpr std::int64_t blocks_kept_max = 24;

constexpr const char* victim_program = ACP_TEST_PROGRAM_DIR "/channel_victim";

class ChannelKillTest : public KillDriver<ChannelBoard> {
protected:
    // Both partners' requests failed within these times after the strike.
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

    static void expect_all_told(const Job& job) {
        EXPECT_EQ(job.output().find("failed that no"), std::string::npos)
            << "acp_finalize reports requests on channels that had not completed:\n"
            << job.output();
    }

    static void check(const Trial& trial) {
        expect_all_told(trial.job);
        expect_refused(trial.board, trial.struck_at_ns, 0, (trial.nodes == 1 ? 1 : 2) * second_ns);
    }
};

// A stopped rank that is alone on its node answers no datagram: after ACP_PEER_TIMEOUT its
// partners' requests fail.
TEST_F(ChannelKillTest, partners_of_a_severed_node_are_refused_and_lose_nothing) {
    if (number_of("TEST_NODES", 1) != channel_ranks) {
        GTEST_SKIP() << "needs a node for each rank";
    }
    arm_watchdog(240, "a job of which a rank is stopped");
    constexpr std::int64_t peer_timeout_ns = 2 * second_ns;
    const auto board = Board<ChannelBoard>::create();
    JobOptions options = options_of(victim_program, channel_ranks, board.environment_entry());
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
    EXPECT_EQ(job.wait_ended(kill_patience_ns), 137) << job.output() << job.describe_living();
    expect_all_told(job);
    EXPECT_TRUE(job.wait_gone(kill_patience_ns).has_value()) << job.describe_living();
    expect_refused(*board, struck_at_ns, peer_timeout_ns / 2, peer_timeout_ns + 4 * second_ns);
}

TEST_F(ChannelKillTest, partners_are_refused_and_lose_nothing) {
    const auto prepare = [](ChannelBoard&, Random&, int) { return victim_rank; };
    const auto note_kill = [](ChannelBoard&) {};
    strike_all(victim_program, 10 * millisecond_ns, prepare, note_kill, check);
}

}  // namespace
}  // namespace acp::test
