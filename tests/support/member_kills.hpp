// SPDX-License-Identifier: BSD-3-Clause
// Members of a team or a plan are killed at random moments of their collective calls: the calls of
// every other member fail in time, with a message that names the killed one. For drivers
// (support/kill_driver.hpp).
#pragma once

#include "support/kill_driver.hpp"
#include "support/member_board.hpp"

namespace acp::test {

class MemberKills : public KillDriver<MemberBoard> {
protected:
    //   victim_program  of the ranks: its whole path
    void expect_others_are_refused_in_time(const std::string& victim_program) {
        const auto prepare = [](MemberBoard& board, Random& random, int /*nodes*/) {
            const auto victim = static_cast<int>(random.below(member_ranks));
            board.victim.store(victim, std::memory_order_relaxed);
            return victim;
        };
        strike_all(
            victim_program, 10 * millisecond_ns, prepare, [](MemberBoard& /*board*/) {},
            [](const Trial& trial) {
                const int victim = trial.board.victim.load(std::memory_order_relaxed);
                for (int rank = 0; rank < member_ranks; ++rank) {
                    if (rank == victim) continue;
                    const MemberNote& note = trial.board.ranks[rank];
                    EXPECT_STREQ(note.message, "") << "rank " << rank << ", killed was " << victim;
                    const std::int64_t took_ns =
                        note.refused_at_ns.load(std::memory_order_relaxed) - trial.struck_at_ns;
                    EXPECT_GT(took_ns, 0) << "rank " << rank;
                    EXPECT_LT(took_ns, (trial.nodes == 1 ? 1 : 2) * second_ns) << "rank " << rank;
                }
            });
    }
};

}  // namespace acp::test
