// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a rank at random moments of an exchange of PM messages: the death is reported to every
// other rank in time and once, and the others continue. A driver: the ranks are pm_victim.
#include <gtest/gtest.h>

#include <acp.h>

#include "pm/kill_board.hpp"
#include "support/kill_driver.hpp"

namespace acp::test {
namespace {

class PmKillTest : public KillDriver<PmBoard> {};

TEST_F(PmKillTest, all_other_ranks_get_the_death_in_time_and_continue) {
    strike_all(
        std::string(ACP_TEST_PROGRAM_DIR) + "/pm_victim", 10 * millisecond_ns,
        [](PmBoard& board, Random& random, int /*nodes*/) {
            const auto victim = static_cast<int>(random.below(pm_ranks));
            board.victim.store(victim, std::memory_order_relaxed);
            return victim;
        },
        [](PmBoard& /*board*/) {},
        [](const Trial& trial) {
            const int victim = trial.board.victim.load(std::memory_order_relaxed);
            for (int rank = 0; rank < pm_ranks; ++rank) {
                if (rank == victim) continue;
                const PmNote& note = trial.board.ranks[rank];
                EXPECT_STREQ(note.message, "") << "rank " << rank << ", killed was " << victim;
                const std::int64_t took_ns =
                    note.told_at_ns.load(std::memory_order_relaxed) - trial.struck_at_ns;
                EXPECT_GT(took_ns, 0) << "rank " << rank;
                EXPECT_LT(took_ns, (trial.nodes == 1 ? 1 : 2) * second_ns) << "rank " << rank;
            }
        });
}

}  // namespace
}  // namespace acp::test
