// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a rank that works on containers, at random moments: the others go on, find all they had stored, walk over the entries and
// destroy the containers, and no heap has a block more than before. A driver: the ranks are hashed_victim. TEST_TRIALS sets how often
// it strikes, TEST_NODES over how many nodes; seeds are printed and taken from TEST_SEED.
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iostream>
#include <sched.h>

#include "hashed/kill_board.hpp"
#include "support/board.hpp"
#include "support/clock.hpp"
#include "support/job.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::int64_t patience_ns = 90 * second_ns;

int number_of(const char* variable, int otherwise) {
    const char* given = std::getenv(variable);
    return given == nullptr ? otherwise : std::atoi(given);
}

class HashedKillTest : public ::testing::Test {
protected:
    void SetUp() override { adopt_orphans(); }

    void TearDown() override {
        arm_watchdog(0, "");
        std::cout << left_ << " blocks were left after " << struck_ << " kills\n";
    }

    static void await_working(const KillBoard& board, const Job& job) {
        const std::int64_t deadline = now_ns() + patience_ns;
        for (const KillNote& note : board.ranks) {
            while (note.phase.load(std::memory_order_acquire) < KillPhase::working) {
                ASSERT_LT(now_ns(), deadline) << "a rank does not begin:\n" << job.output();
                sched_yield();
            }
        }
    }

    // A rank that is killed at the instruction by which it frees a block leaves that block; so does one that is killed between filling
    // a block in a heap of another node and giving it to a table there.
    void expect_heaps_as_before(const KillBoard& board, const Job& job, std::uint64_t most) {
        std::uint64_t left = 0;
        std::string in_heaps;
        for (const KillNote& note : board.ranks) {
            const std::uint64_t before = note.blocks_before.load(std::memory_order_relaxed);
            const std::uint64_t after = note.blocks_after.load(std::memory_order_relaxed);
            EXPECT_GE(after, before) << "rank " << &note - board.ranks;
            left += after - before;
            in_heaps += std::to_string(before) + " to " + std::to_string(after) + " ";
        }
        EXPECT_LE(left, most) << job.output() << "blocks are left in heaps: " << in_heaps
                              << "; rank " << board.victim << " was killed";
        left_ += left;
        ++struck_;
    }

    void strike_once(std::uint64_t seed, int nodes) {
        Random random(seed);
        const auto board = Board<KillBoard>::create();
        board->seed = random.next();
        board->victim = static_cast<int>(random.below(kill_ranks));
        board->has_tables_on_victim = nodes == 1 ? 1 : 0;
        JobOptions options;
        options.ranks = kill_ranks;
        options.launcher = {"--on-failure=continue", "--heap-size", "32M", "--nodes",
                            std::to_string(nodes)};
        options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/hashed_victim"};
        options.environment = {board.environment_entry(), "ACP_ON_ERROR=return"};
        Job job(options);
        await_working(*board, job);
        if (HasFatalFailure()) return;
        // The clock is the moment to strike, not a wait for an event.
        const std::int64_t until =
            now_ns() + static_cast<std::int64_t>(random.below(20 * millisecond_ns));
        while (now_ns() < until) sched_yield();
        const pid_t process = board->ranks[board->victim].process.load(std::memory_order_relaxed);
        ASSERT_EQ(kill(process, SIGKILL), 0) << process;
        board->is_struck.store(1, std::memory_order_release);
        EXPECT_EQ(job.wait_ended(patience_ns), 137) << job.output() << job.describe_living();
        for (const KillNote& note : board->ranks) {
            EXPECT_NE(note.phase.load(std::memory_order_acquire), KillPhase::failed)
                << "rank " << &note - board->ranks << ": " << note.message;
        }
        if (!HasFailure()) expect_heaps_as_before(*board, job, nodes > 1 ? 2 : 1);
        EXPECT_TRUE(job.wait_gone(patience_ns).has_value()) << job.describe_living();
    }

    std::uint64_t left_ = 0;
    std::uint64_t struck_ = 0;
};

TEST_F(HashedKillTest, the_others_go_on_and_nothing_is_lost) {
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
