// SPDX-License-Identifier: BSD-3-Clause
// A lock of a job: one rank at a time has it, whichever rank is killed or stopped at whichever
// moment; the report of waits names the holder. A driver (support/kill_driver.hpp): the ranks are
// lock_victim.
#include <csignal>
#include <numeric>
#include <regex>
#include <string>

#include "lock/kill_board.hpp"
#include "support/kill_driver.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t entries_counted = 400;

class LockTest : public KillDriver<KillBoard> {
protected:
    static int prepare(KillBoard& board, Random& random, LockTask task) {
        board.seed = random.next();
        board.task = task;
        board.victim = static_cast<int>(random.below(kill_ranks));
        board.home = static_cast<int>(random.below(kill_ranks));
        return board.victim;
    }

    static void expect_well(const KillBoard& board, const std::string& output) {
        for (const LockNote& note : board.ranks) {
            EXPECT_EQ(std::string(note.message), "")
                << "rank " << &note - board.ranks << " of a lock of rank " << board.home
                << ", victim " << board.victim << ", seed " << board.seed << "\n"
                << output;
        }
    }

    static std::uint64_t sum(const KillBoard& board, std::atomic<std::uint64_t> LockNote::*field) {
        std::uint64_t total = 0;
        for (const LockNote& note : board.ranks) total += (note.*field).load();
        return total;
    }

    // A job without a kill.
    static void run_task(LockTask task) {
        arm_watchdog(120, "a job with a lock");
        Random random(fresh_seed());
        const auto board = Board<KillBoard>::create();
        (void)prepare(*board, random, task);
        Job job(options_of(ACP_TEST_PROGRAM_DIR "/lock_victim", number_of("TEST_NODES", 1),
                           board.environment_entry()));
        EXPECT_EQ(job.wait_ended(kill_patience_ns), 0) << job.output();
        expect_well(*board, job.output());
        if (task != LockTask::count) return;
        EXPECT_EQ(sum(*board, &LockNote::entries), kill_ranks * entries_counted);
        EXPECT_EQ(board->first.load(), kill_ranks * entries_counted);
        EXPECT_EQ(sum(*board, &LockNote::deaths_told), 0U);
    }
};

TEST_F(LockTest, one_rank_at_a_time_has_the_lock) {
    run_task(LockTask::count);
}

TEST_F(LockTest, each_call_in_a_wrong_state_is_refused) {
    run_task(LockTask::calls);
}

TEST_F(LockTest, a_wait_without_memory_is_refused_and_leaves_no_place_in_the_queue) {
    run_task(LockTask::full_heaps);
}

TEST_F(LockTest, no_grant_of_a_wait_before_a_reset_has_an_effect_after_it) {
    run_task(LockTask::resets);
}

TEST_F(LockTest, survivors_get_the_lock_of_a_killed_rank_and_one_is_told) {
    strike_all(
        ACP_TEST_PROGRAM_DIR "/lock_victim", 5 * millisecond_ns,
        [](KillBoard& board, Random& random, int /*nodes*/) {
            return prepare(board, random, LockTask::contend);
        },
        [](KillBoard& board) { board.is_struck.store(1, std::memory_order_release); },
        [](const Trial& trial) {
            expect_well(trial.board, trial.job.output());
            EXPECT_LE(sum(trial.board, &LockNote::deaths_told), 1U);
        });
}

TEST_F(LockTest, survivors_get_the_bytes_of_the_last_release_before_a_rank_is_killed) {
    strike_all(
        ACP_TEST_PROGRAM_DIR "/lock_victim", 5 * millisecond_ns,
        [](KillBoard& board, Random& random, int /*nodes*/) {
            return prepare(board, random, LockTask::contend_for_bytes);
        },
        [](KillBoard& board) { board.is_struck.store(1, std::memory_order_release); },
        [](const Trial& trial) {
            expect_well(trial.board, trial.job.output());
            EXPECT_LE(sum(trial.board, &LockNote::deaths_told), 1U);
        });
}

// Asks acprun for its report until it has all patterns.
void await_report(Job& job, const std::vector<std::string>& patterns) {
    const std::int64_t deadline = now_ns() + kill_patience_ns;
    for (const std::string& pattern : patterns) {
        while (!std::regex_search(job.output(), std::regex(pattern))) {
            ASSERT_LT(now_ns(), deadline) << pattern << " is not in\n" << job.output();
            ASSERT_EQ(kill(job.process(), SIGUSR2), 0);
            usleep(20'000);  // lint: a pause between looks
        }
    }
}

TEST_F(LockTest, the_report_names_the_lock_and_the_stopped_rank_that_holds_it) {
    arm_watchdog(120, "a job whose holder of a lock is stopped");
    Random random(fresh_seed());
    const auto board = Board<KillBoard>::create();
    const int victim = prepare(*board, random, LockTask::hold);
    JobOptions options = options_of(ACP_TEST_PROGRAM_DIR "/lock_victim", number_of("TEST_NODES", 1),
                                    board.environment_entry());
    options.environment.emplace_back("ACP_CHECK=1");
    Job job(options);
    await_work(*board, job);
    if (HasFatalFailure()) return;
    const pid_t process = board->ranks[victim].process.load();
    ASSERT_EQ(kill(process, SIGSTOP), 0);
    std::vector<std::string> patterns{
        "rank " + std::to_string(victim) + " is stopped",
        "acp_lock waits for 2 s: until rank " + std::to_string(victim) + ".* releases lock 0x"};
    for (int rank = 0; rank < kill_ranks; ++rank) {
        if (rank == victim) continue;
        patterns.push_back("rank " + std::to_string(rank) +
                           " waits in acp_lock for ([3-9]|[1-9][0-9]).* s: rank " +
                           std::to_string(victim) + " holds the lock at rank " +
                           std::to_string(board->home) + R"( \(0x[0-9a-f]+\))");
        await_state(board->ranks[rank].process.load(), "S");
    }
    await_report(job, patterns);
    ASSERT_EQ(kill(process, SIGCONT), 0);
    board->is_over.store(1, std::memory_order_release);
    EXPECT_EQ(job.wait_ended(kill_patience_ns), 0) << job.output();
    expect_well(*board, job.output());
}

}  // namespace
}  // namespace acp::test
