// SPDX-License-Identifier: BSD-3-Clause
// Four ranks share a deque as a queue of work, and one of them is killed or stopped while it works:
// every task is done once, except those that the killed rank had taken. A driver: the ranks are
// queue_worker. TEST_TRIALS sets the number of trials.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>

#include "queue/queue_board.hpp"
#include "support/board.hpp"
#include "support/clock.hpp"
#include "support/job.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::queue_test {
namespace {

using test::Board;
using test::Job;
using test::JobOptions;

constexpr std::int64_t patience_ns = 100 * test::second_ns;

struct Shape {
    const char* name;
    int nodes;
    int victim;
    bool is_killed;
};

class QueueFaults : public testing::TestWithParam<Shape> {
protected:
    void SetUp() override {
        test::adopt_orphans();
        test::arm_watchdog(300, "a fault of a queue");
    }

    void TearDown() override { test::arm_watchdog(0, ""); }

    static Board<QueueBoard> make_board() {
        auto board = Board<QueueBoard>::create();
        board->victim = GetParam().victim;
        board->is_killed = GetParam().is_killed ? 1 : 0;
        return board;
    }

    static JobOptions options_of(const Board<QueueBoard>& board) {
        JobOptions options;
        options.ranks = ranks_max;
        options.launcher = {"--on-failure=continue", "--nodes", std::to_string(GetParam().nodes),
                            "--heap-size", "32M"};
        options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/queue_worker"};
        options.environment = {board.environment_entry(), "ACP_ON_ERROR=return"};
        return options;
    }

    // Waits until the victim works, and then a random time, which chooses the moment of the strike
    // and waits for no event.
    void await_work(const Board<QueueBoard>& board, Job& job) {
        const WorkerNote& note = board->ranks[GetParam().victim];
        while (note.process.load(std::memory_order_acquire) == 0 ||
               note.pushed.load(std::memory_order_acquire) < 100) {
            ASSERT_TRUE(job.wait_ended(0) == std::nullopt) << job.output();
            sched_yield();
        }
        pass(random_.below(10 * test::millisecond_ns));
    }

    static void pass(std::uint64_t time_ns) {
        const std::int64_t until = test::now_ns() + static_cast<std::int64_t>(time_ns);
        while (test::now_ns() < until) sched_yield();
    }

    // Each task was done once; the victim may have taken up to 8 without having noted them, and may
    // have been inside a push of up to 3.
    static void expect_each_done_once(const Board<QueueBoard>& board, const std::string& when) {
        std::uint64_t missing = 0, twice = 0;
        for (int rank = 0; rank < ranks_max; ++rank) {
            const WorkerNote& note = board->ranks[rank];
            const std::uint32_t pushed = note.pushed.load();
            for (std::uint32_t task = 0; task < tasks_each; ++task) {
                const std::uint32_t done = note.done[task].load();
                const bool is_in_push = rank == GetParam().victim && task < pushed + 3;
                twice += done > 1 || (done == 1 && task >= pushed && !is_in_push) ? 1U : 0U;
                missing += done == 0 && task < pushed ? 1U : 0U;
            }
            EXPECT_EQ(note.wrong.load(), 0U) << rank << ", " << when;
        }
        EXPECT_EQ(twice, 0U) << when;
        EXPECT_LE(missing, GetParam().is_killed ? 8U : 0U) << when;
        EXPECT_EQ(board->ranks[0].blocks_left.load(), 0U) << when;
    }

    test::Random random_{test::fresh_seed()};
};

TEST_P(QueueFaults, a_rank_that_is_killed_or_stopped_takes_nothing_with_it) {
    const char* given = std::getenv("TEST_TRIALS");
    const int trials = given != nullptr ? std::atoi(given) : 3;
    // Trials in which the victim had done its work before the strike are repeated.
    int too_late = 0;
    for (int trial = 0; trial < trials && !HasFailure();) {
        test::arm_watchdog(300, "a fault of a queue");
        const auto board = make_board();
        Job job(options_of(board));
        await_work(board, job);
        const pid_t victim = board->ranks[GetParam().victim].process.load();
        bool is_struck = ::kill(victim, GetParam().is_killed ? SIGKILL : SIGSTOP) == 0;
        board->is_struck.store(1, std::memory_order_release);
        if (is_struck && !GetParam().is_killed) {
            pass(random_.below(50 * test::millisecond_ns));
            // A stopped process does not end: if it is gone, it had ended before the strike, and
            // its agent had not reaped it yet.
            is_struck = ::kill(victim, SIGCONT) == 0;
        }
        if (!is_struck) {
            ASSERT_EQ(errno, ESRCH);
            ASSERT_LT(++too_late, 50);
            ASSERT_TRUE(job.wait_ended(patience_ns).has_value()) << job.output();
            continue;
        }
        ++trial;
        ASSERT_TRUE(job.wait_ended(patience_ns).has_value()) << job.output();
        expect_each_done_once(board, "trial " + std::to_string(trial) + "\n" + job.output());
        EXPECT_TRUE(job.wait_gone(patience_ns).has_value()) << job.describe_living();
    }
}

constexpr Shape shapes[] = {
    {"killed_on_one_node", 1, 1, true},
    {"stopped_on_one_node", 1, 2, false},
    {"killed_on_the_other_node", 2, 3, true},
    {"killed_beside_the_owner", 2, 1, true},
};

std::string name_of(const testing::TestParamInfo<Shape>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(of, QueueFaults, testing::ValuesIn(shapes), name_of);

}  // namespace
}  // namespace acp::queue_test
