// SPDX-License-Identifier: BSD-3-Clause
// SIGKILL of a rank that works on containers, at random moments: the survivors continue, find all
// entries that they stored, walk over all entries and destroy the containers, and no heap has more
// blocks than before. A driver (support/kill_driver.hpp): the ranks are hashed_victim.
#include <iostream>

#include "hashed/kill_board.hpp"
#include "support/kill_driver.hpp"

namespace acp::test {
namespace {

class HashedKillTest : public KillDriver<KillBoard> {
protected:
    void TearDown() override {
        KillDriver::TearDown();
        std::cout << left_ << " blocks were left after " << struck_ << " kills\n";
    }

    static int prepare(KillBoard& board, Random& random, int nodes) {
        board.seed = random.next();
        board.victim = static_cast<int>(random.below(kill_ranks));
        board.has_tables_on_victim = nodes == 1 ? 1 : 0;
        return board.victim;
    }

    static void note_kill(KillBoard& board) { board.is_struck.store(1, std::memory_order_release); }

    void check(const Trial& trial) {
        for (const KillNote& note : trial.board.ranks) {
            EXPECT_NE(note.phase.load(std::memory_order_acquire), KillPhase::failed)
                << "rank " << &note - trial.board.ranks << ": " << note.message;
        }
        if (!HasFailure()) {
            expect_heaps_as_before(trial.board, trial.job, trial.nodes > 1 ? 2 : 1);
        }
    }

    // Two kinds of blocks leak: a block whose free was interrupted at its last instruction, and a
    // block in a heap of another node that the victim had filled but not yet given to a table
    // there.
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

    std::uint64_t left_ = 0;
    std::uint64_t struck_ = 0;
};

TEST_F(HashedKillTest, survivors_continue_and_no_entry_is_lost) {
    strike_all(ACP_TEST_PROGRAM_DIR "/hashed_victim", 20 * millisecond_ns, prepare, note_kill,
               [this](const Trial& trial) { check(trial); });
}

}  // namespace
}  // namespace acp::test
