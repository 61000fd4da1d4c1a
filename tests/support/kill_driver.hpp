// SPDX-License-Identifier: BSD-3-Clause
// Jobs of which one rank gets SIGKILL at a random moment, one job after the other: for drivers.
// TEST_TRIALS sets how many jobs, TEST_NODES over how many nodes; seeds are printed and taken from
// TEST_SEED. Knows nothing of the library. Main thread only.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <type_traits>

#include "support/board.hpp"
#include "support/clock.hpp"
#include "support/job.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {

inline constexpr std::int64_t kill_patience_ns = 90 * second_ns;

[[nodiscard]] inline int number_of(const char* variable, int otherwise) {
    const char* given = std::getenv(variable);
    return given == nullptr ? otherwise : std::atoi(given);
}

// A board of the driver and its ranks has
//   ranks[]                   a note of each, with `process`
//   is_at_work(note)          whether that rank has begun, as a static function
// The fixture derives from this one and gives strike_all() what is its own.
template <typename KillBoard>
class KillDriver : public ::testing::Test {
protected:
    void SetUp() override { adopt_orphans(); }

    void TearDown() override { arm_watchdog(0, ""); }

    // One job of one rank's kill.
    struct Trial {
        KillBoard& board;
        Job& job;
        int nodes;
        std::int64_t struck_at_ns;
    };

    //   program       of the ranks, its path
    //   moment_ns     the kill comes at a random moment within so long after all have begun
    //   prepare(board, random, nodes)  before the job starts; returns the rank to kill
    //   note_kill(board)               just after the kill
    //   check(trial)                   after the launcher has ended
    template <typename Prepare, typename NoteKill, typename Check>
    static void strike_all(const std::string& program,
                           std::int64_t moment_ns,
                           const Prepare& prepare,
                           const NoteKill& note_kill,
                           const Check& check) {
        const char* given = std::getenv("TEST_SEED");
        std::uint64_t seed = given == nullptr ? fresh_seed() : std::strtoull(given, nullptr, 0);
        const int nodes = number_of("TEST_NODES", 1);
        const int trials = number_of("TEST_TRIALS", 10);
        for (int trial = 0; trial < trials && !HasFailure(); ++trial, ++seed) {
            arm_watchdog(240, "a job of which a rank is killed");
            SCOPED_TRACE("trial " + std::to_string(trial) + ", TEST_SEED=" + std::to_string(seed));
            Random random(seed);
            const auto board = Board<KillBoard>::create();
            const int victim = prepare(*board, random, nodes);
            Job job(options_of(program, nodes, board.environment_entry()));
            await_work(*board, job);
            if (HasFatalFailure()) return;
            // The loop waits for a random moment, not for an event.
            const std::int64_t until =
                now_ns() +
                static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(moment_ns)));
            while (now_ns() < until) sched_yield();
            const std::int64_t struck_at_ns = now_ns();
            const pid_t process = board->ranks[victim].process.load(std::memory_order_relaxed);
            ASSERT_EQ(kill(process, SIGKILL), 0) << process;
            note_kill(*board);
            EXPECT_EQ(job.wait_ended(kill_patience_ns), 137)
                << job.output() << job.describe_living();
            check(Trial{*board, job, nodes, struck_at_ns});
            EXPECT_TRUE(job.wait_gone(kill_patience_ns).has_value()) << job.describe_living();
        }
    }

    static JobOptions options_of(const std::string& program,
                                 int nodes,
                                 const std::string& board_entry) {
        JobOptions options;
        options.ranks = static_cast<int>(std::extent_v<decltype(KillBoard::ranks)>);
        options.launcher = {"--on-failure=continue", "--heap-size", "32M", "--nodes",
                            std::to_string(nodes)};
        options.program = {program};
        options.environment = {board_entry, "ACP_ON_ERROR=return"};
        return options;
    }

    static void await_work(const KillBoard& board, const Job& job) {
        const std::int64_t deadline = now_ns() + kill_patience_ns;
        for (const auto& note : board.ranks) {
            while (!KillBoard::is_at_work(note)) {
                ASSERT_LT(now_ns(), deadline) << "a rank does not begin:\n" << job.output();
                sched_yield();
            }
        }
    }
};

}  // namespace acp::test
