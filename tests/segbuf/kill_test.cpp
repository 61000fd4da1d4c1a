// SPDX-License-Identifier: BSD-3-Clause
// A rank with ends of segmented buffers is killed at random moments: calls of both partners fail in
// time, on every node, the destination has got every segment whole and in order, no block of the
// ends leaks in their heaps, and the partners exchange segments afterwards. A rank that is only
// stopped delays only its partners. A driver (support/kill_driver.hpp): the ranks are
// segbuf_victim.
#include "segbuf/kill_board.hpp"
#include "support/kill_driver.hpp"

namespace acp::test {
namespace {

// Erased entries of the map in which ends find their partners; they are reclaimed in batches.
constexpr std::int64_t blocks_kept_max = 24;

constexpr const char* victim_program = ACP_TEST_PROGRAM_DIR "/segbuf_victim";

class SegbufKillTest : public KillDriver<SegbufBoard> {
protected:
    // Calls of both partners failed soon after the victim was killed.
    static void expect_refused(const SegbufBoard& board, std::int64_t struck_at_ns, int nodes) {
        for (const int rank : {0, 2}) {
            const SegbufNote& note = board.ranks[rank];
            EXPECT_STREQ(note.message, "") << "rank " << rank;
            const std::int64_t took_ns =
                note.refused_at_ns.load(std::memory_order_relaxed) - struck_at_ns;
            EXPECT_GT(took_ns, 0) << "rank " << rank;
            EXPECT_LT(took_ns, (nodes == 1 ? 1 : 2) * second_ns) << "rank " << rank;
            EXPECT_LE(note.blocks_left.load(std::memory_order_relaxed), blocks_kept_max)
                << "rank " << rank;
        }
    }

    static void expect_all_told(const Job& job) {
        EXPECT_EQ(job.output().find("failed that no"), std::string::npos)
            << "acp_finalize reports operations on segmented buffers that had not completed:\n"
            << job.output();
    }
};

TEST_F(SegbufKillTest, a_rank_that_is_stopped_delays_only_its_partners) {
    const int nodes = number_of("TEST_NODES", 1);
    if (nodes == segbuf_ranks) GTEST_SKIP() << "a rank alone on its node stops its own gateway too";
    arm_watchdog(240, "a job of which a rank is stopped");
    const auto board = Board<SegbufBoard>::create();
    Job job(options_of(victim_program, nodes, board.environment_entry()));
    await_work(*board, job);
    if (HasFatalFailure()) return;
    const pid_t victim = board->ranks[victim_rank].process.load(std::memory_order_relaxed);
    ASSERT_EQ(kill(victim, SIGSTOP), 0) << victim;
    const std::atomic<std::int64_t>& moved = board->ranks[0].moved;
    const std::int64_t before = moved.load(std::memory_order_relaxed);
    while (moved.load(std::memory_order_relaxed) < before + 100) sched_yield();
    for (const int rank : {0, 2}) EXPECT_EQ(board->ranks[rank].refused_at_ns.load(), 0) << rank;
    const std::int64_t struck_at_ns = now_ns();
    ASSERT_EQ(kill(victim, SIGKILL), 0) << victim;
    EXPECT_EQ(job.wait_ended(kill_patience_ns), 137) << job.output() << job.describe_living();
    expect_refused(*board, struck_at_ns, nodes);
    EXPECT_TRUE(job.wait_gone(kill_patience_ns).has_value()) << job.describe_living();
}

TEST_F(SegbufKillTest, partners_are_refused_and_lose_nothing) {
    int trials = 0;
    const auto prepare = [&trials](SegbufBoard& board, Random&, int) {
        board.scene.store(trials++ % static_cast<int>(Scene::count), std::memory_order_relaxed);
        return victim_rank;
    };
    const auto note_kill = [](SegbufBoard&) {};
    const auto check = [](const Trial& trial) {
        SCOPED_TRACE("scene " + std::to_string(trial.board.scene.load()));
        expect_all_told(trial.job);
        expect_refused(trial.board, trial.struck_at_ns, trial.nodes);
    };
    strike_all(victim_program, 10 * millisecond_ns, prepare, note_kill, check);
}

}  // namespace
}  // namespace acp::test
