// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a rank at random moments of a job that uses containers, channels, PM messages, teams
// and plans at once: a call of every other rank fails by it, and the job ends. If the job exceeds
// ACP_HANG_TIMEOUT, its ranks print the calls in which they wait. A driver: the ranks are
// mixed_victim.
#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>

#include "mixed/mixed_board.hpp"
#include "support/kill_driver.hpp"

namespace acp::test {
namespace {

class MixedKillTest : public KillDriver<MixedBoard> {};

TEST_F(MixedKillTest, all_other_ranks_get_an_error_and_the_job_ends) {
    strike_all(
        std::string(ACP_TEST_PROGRAM_DIR) + "/mixed_victim", 30 * millisecond_ns,
        [](MixedBoard& board, Random& random, int /*nodes*/) {
            board.seed = random.next();
            board.victim = static_cast<std::int32_t>(random.below(mixed_ranks));
            board.after = random.chance(50) ? AfterDeath::leave : AfterDeath::part;
            return board.victim;
        },
        [](MixedBoard& /*board*/) {},
        [](const Trial& trial) {
            std::int64_t last_ns = 0;
            for (int rank = 0; rank < mixed_ranks; ++rank) {
                if (rank == trial.board.victim) continue;
                const MixedNote& note = trial.board.ranks[rank];
                EXPECT_STREQ(note.message, "")
                    << "rank " << rank << ", killed was " << trial.board.victim;
                EXPECT_GT(note.left_at_ns.load(std::memory_order_relaxed), 0) << "rank " << rank;
                last_ns = std::max(last_ns, note.left_at_ns.load(std::memory_order_relaxed));
            }
            const std::string output = trial.job.output();
            const bool is_called = output.find("the ranks do this") != std::string::npos;
            if (is_called || HasFailure())
                std::printf("%lld ms after the kill, what the job printed:\n%s\n",
                            static_cast<long long>((last_ns - trial.struck_at_ns) / millisecond_ns),
                            output.c_str());
        });
}

}  // namespace
}  // namespace acp::test
