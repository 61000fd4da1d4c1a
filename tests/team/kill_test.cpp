// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a member of a team at random moments of its calls: every other member is refused in time, with a message that names it, and the
// team can be freed. A driver: the ranks are team_victim. TEST_TRIALS sets how often it strikes, TEST_NODES over how many
// nodes; seeds are printed and taken from TEST_SEED.
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>

#include "team/kill_board.hpp"

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

class TeamKillTest : public ::testing::Test {
protected:
    void SetUp() override { adopt_orphans(); }

    void TearDown() override { arm_watchdog(0, ""); }

    static void await_work(const TeamBoard& board, const Job& job) {
        const std::int64_t deadline = now_ns() + patience_ns;
        for (const TeamNote& note : board.ranks) {
            while (note.is_at_work.load(std::memory_order_acquire) == 0) {
                ASSERT_LT(now_ns(), deadline) << "a rank does not begin:\n" << job.output();
                sched_yield();
            }
        }
    }

    static void strike_once(std::uint64_t seed, int nodes) {
        Random random(seed);
        const auto board = Board<TeamBoard>::create();
        const auto victim = static_cast<int>(random.below(team_ranks));
        board->victim.store(victim, std::memory_order_relaxed);
        JobOptions options;
        options.ranks = team_ranks;
        options.launcher = {"--on-failure=continue", "--heap-size", "32M", "--nodes",
                            std::to_string(nodes)};
        options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/team_victim"};
        options.environment = {board.environment_entry(), "ACP_ON_ERROR=return"};
        Job job(options);
        await_work(*board, job);
        if (HasFatalFailure()) return;
        // The clock is the moment to strike, not a wait for an event.
        const std::int64_t until =
            now_ns() + static_cast<std::int64_t>(random.below(10 * millisecond_ns));
        while (now_ns() < until) sched_yield();
        const std::int64_t struck_at_ns = now_ns();
        const pid_t process = board->ranks[victim].process.load(std::memory_order_relaxed);
        ASSERT_EQ(kill(process, SIGKILL), 0) << process;
        EXPECT_EQ(job.wait_ended(patience_ns), 137) << job.output() << job.describe_living();
        for (int rank = 0; rank < team_ranks; ++rank) {
            if (rank == victim) continue;
            const TeamNote& note = board->ranks[rank];
            EXPECT_STREQ(note.message, "") << "rank " << rank << ", killed was " << victim;
            const std::int64_t took_ns =
                note.refused_at_ns.load(std::memory_order_relaxed) - struck_at_ns;
            EXPECT_GT(took_ns, 0) << "rank " << rank;
            EXPECT_LT(took_ns, (nodes == 1 ? 1 : 2) * second_ns) << "rank " << rank;
        }
        EXPECT_TRUE(job.wait_gone(patience_ns).has_value()) << job.describe_living();
    }
};

TEST_F(TeamKillTest, all_other_members_are_refused_in_time) {
    const char* given = std::getenv("TEST_SEED");
    const std::uint64_t seed = given == nullptr ? fresh_seed() : std::strtoull(given, nullptr, 0);
    const int nodes = number_of("TEST_NODES", 1);
    const int trials = number_of("TEST_TRIALS", 10);
    for (int trial = 0; trial < trials && !HasFailure(); ++trial) {
        arm_watchdog(240, "a job of which a member is killed");
        SCOPED_TRACE("trial " + std::to_string(trial) +
                     ", TEST_SEED=" + std::to_string(seed + static_cast<std::uint64_t>(trial)));
        strike_once(seed + static_cast<std::uint64_t>(trial), nodes);
    }
}

}  // namespace
}  // namespace acp::test
