// SPDX-License-Identifier: BSD-3-Clause
// A process is killed before each access while it ends loans of its own or of a dead process:
// each block is freed once. And a process is killed while it replaces a block by another one: one
// of both stays.
#include <array>
#include <csignal>

#include "heap/loans.hpp"

#include "support/scoped_watchdog.hpp"
#include "unit/table/kill_scene.hpp"

namespace acp::allocator {
namespace {

using table::SteppedAtomic;
using test::StruckChild;
using SteppedLoans = heap::Loans<SteppedAtomic>;

constexpr std::uint32_t loans_max = 4;
constexpr std::uint32_t process_of_victim = 7;
constexpr std::uint32_t process_gone = 8;

// The common part of scenes of a heap with loans.
template <typename Scene>
struct SceneWithLoans : table::TableScene<Scene> {
    SceneWithLoans() : table::TableScene<Scene>(1) { this->own.blocks.set_loans(loans); }

    [[nodiscard]] table::Stepped user(std::uint32_t number) {
        return {this->shared, this->participants.data(), number, 1};
    }

    [[nodiscard]] heap::Offset allocate(table::Stepped& by, std::uint64_t bytes) {
        return this->shared.heap.allocate(by.blocks.cache(), bytes);
    }

    void keep(table::Stepped& by) { this->shared.heap.keep(by.blocks.cache()); }

    // Frees a block as the allocator does, through the participant's word `freeing`.
    [[nodiscard]] auto freeing_by(table::Stepped& by, std::uint32_t number) {
        return
            [this, &by, number](heap::Offset block, const auto& unlink, heap::Lent, std::uint32_t) {
                const table::Participants<SteppedAtomic> all{this->participants.data(),
                                                             table::participants_max};
                table::unlink_and_free<SteppedAtomic>(by.blocks, all[number].freeing, number,
                                                      table::number_of(block),
                                                      table::Spare::second_word, unlink);
            };
    }

    bool end_all(table::Stepped& by, std::uint32_t number, bool is_victim_gone) {
        return loans.end_all(
            number, SceneWithLoans::is_dead,
            [&](std::uint32_t process) { return is_victim_gone || process == process_gone; },
            freeing_by(by, number));
    }

    // A block with a loan that was made before keep() belongs to that loan.
    [[nodiscard]] bool is_shown(std::uint32_t dead, heap::Offset block) const {
        return table::TableScene<Scene>::is_shown(dead, block) || loans.has(block);
    }

    bool recover_structure(table::Stepped& by, std::uint32_t dead) {
        const std::uint32_t number = &by == &this->own ? test::survivor : test::helper;
        by.blocks.set_loans(loans);
        return by.table.recover(dead, SceneWithLoans::is_dead) && end_all(by, number, true) &&
               by.table.recover(dead, SceneWithLoans::is_dead);
    }

    heap::SharedPages words{SteppedLoans::bytes(loans_max)};
    SteppedLoans loans{words.data(), loans_max};
};

struct LoanScene : SceneWithLoans<LoanScene> {
    LoanScene() {
        for (std::uint32_t i = 0; i < loans_max; ++i) {
            blocks[i] = allocate(own, 64);
            keep(own);
            EXPECT_TRUE(loans.lend(blocks[i], i % 2 == 0 ? process_of_victim : process_gone));
        }
    }

    void act() {
        table::Stepped by = user(test::victim);
        by.blocks.set_loans(loans);
        (void)loans.end_own(blocks[0], process_of_victim, freeing_by(by, test::victim));
        (void)end_all(by, test::victim, false);
        (void)loans.end_own(blocks[2], process_of_victim, freeing_by(by, test::victim));
    }

    void expect_nothing_left(const std::string& when) const {
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    std::array<heap::Offset, loans_max> blocks{};
};

// Replaces the program's block by others, as NodeHeap::lend() and replace() do: by a large block
// and by a small one.
struct ReplaceScene : SceneWithLoans<ReplaceScene> {
    ReplaceScene() {
        first = allocate(own, 64);
        keep(own);
    }

    void act() {
        table::Stepped by = user(test::victim);
        by.blocks.set_loans(loans);
        heap::Offset old = first;
        for (const std::uint64_t bytes : {std::uint64_t{200'000}, std::uint64_t{64}}) {
            const heap::Offset block = allocate(by, bytes);
            (void)loans.lend(block, process_of_victim);
            keep(by);
            test::step_of<SteppedAtomic>();
            (void)loans.hand_over(block, old, process_of_victim);
            (void)loans.end_own(old, process_of_victim, freeing_by(by, test::victim));
            old = block;
        }
    }

    void expect_one_left(const std::string& when) const {
        EXPECT_EQ(shared.blocks_in_use(), 1U) << when;
    }

    heap::Offset first = 0;
};

TEST(LoansKill, before_any_access_each_lent_block_is_freed_once) {
    const test::ScopedWatchdog watchdog("kills of who ends loans");
    const auto check = [](LoanScene& scene, const StruckChild& child) {
        scene.recover_victim();
        scene.expect_nothing_left(child.when());
    };
    test::strike_everywhere<LoanScene>({SIGKILL}, check);
}

TEST(LoansKill, before_any_access_of_a_recovery_each_lent_block_is_freed_once) {
    const test::ScopedWatchdog watchdog("kills of who ends loans of the dead");
    const auto check = [](LoanScene& scene, const std::string& when) {
        scene.expect_nothing_left(when);
    };
    test::kill_recoveries<LoanScene>({SIGKILL}, {SIGKILL}, check);
}

TEST(LoansKill, before_any_access_of_a_replacement_one_of_both_blocks_stays) {
    const test::ScopedWatchdog watchdog("kills of who puts a block in the place of another one");
    const auto check = [](ReplaceScene& scene, const StruckChild& child) {
        scene.recover_victim();
        scene.expect_one_left(child.when());
    };
    test::strike_everywhere<ReplaceScene>({SIGKILL}, check);
}

TEST(LoansKill, before_any_access_of_the_recovery_of_a_replacement_one_of_both_blocks_stays) {
    const test::ScopedWatchdog watchdog("kills of who recovers a replacement");
    const auto check = [](ReplaceScene& scene, const std::string& when) {
        scene.expect_one_left(when);
    };
    test::kill_recoveries<ReplaceScene>({SIGKILL}, {SIGKILL}, check);
}

}  // namespace
}  // namespace acp::allocator
