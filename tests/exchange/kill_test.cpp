// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a member at random moments of an exchange: every other member is refused in time, with a message that names it, and the
// plan can be freed. A driver: the ranks are exchange_victim.
#include "exchange/kill_board.hpp"

#include "support/kill_driver.hpp"

namespace acp::test {
namespace {

class ExchangeKillTest : public KillDriver<ExchangeBoard> {};

TEST_F(ExchangeKillTest, all_other_members_are_refused_in_time) {
    const auto prepare = [](ExchangeBoard& board, Random& random, int /*nodes*/) {
        const auto victim = static_cast<int>(random.below(exchange_ranks));
        board.victim.store(victim, std::memory_order_relaxed);
        return victim;
    };
    strike_all(
        std::string(ACP_TEST_PROGRAM_DIR) + "/exchange_victim", 10 * millisecond_ns, prepare,
        [](ExchangeBoard& /*board*/) {},
        [](const Trial& trial) {
            const int victim = trial.board.victim.load(std::memory_order_relaxed);
            for (int rank = 0; rank < exchange_ranks; ++rank) {
                if (rank == victim) continue;
                const ExchangeNote& note = trial.board.ranks[rank];
                EXPECT_STREQ(note.message, "") << "rank " << rank << ", killed was " << victim;
                const std::int64_t took_ns =
                    note.refused_at_ns.load(std::memory_order_relaxed) - trial.struck_at_ns;
                EXPECT_GT(took_ns, 0) << "rank " << rank;
                EXPECT_LT(took_ns, (trial.nodes == 1 ? 1 : 2) * second_ns) << "rank " << rank;
            }
        });
}

}  // namespace
}  // namespace acp::test
