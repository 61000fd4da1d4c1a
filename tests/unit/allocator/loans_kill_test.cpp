// SPDX-License-Identifier: BSD-3-Clause
// A process that is killed before any access while it frees what is lent to it, or to one that is gone: each block is freed once.
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

struct LoanScene : table::TableScene<LoanScene> {
    LoanScene() : TableScene(1) {
        own.blocks.set_loans(loans);
        for (std::uint32_t i = 0; i < loans_max; ++i) {
            const heap::Offset block = shared.heap.allocate(own.blocks.cache(), 64);
            shared.heap.keep(own.blocks.cache());
            EXPECT_TRUE(loans.lend(block, i % 2 == 0 ? process_of_victim : process_gone));
            blocks[i] = block;
        }
    }

    [[nodiscard]] table::Stepped user(std::uint32_t number) {
        return {shared, participants.data(), number, 1};
    }

    // Frees as the allocator does, by the participant of the tables.
    [[nodiscard]] auto freeing_by(table::Stepped& by, std::uint32_t number) {
        return
            [this, &by, number](heap::Offset block, const auto& unlink, heap::Lent, std::uint32_t) {
                const table::Participants<SteppedAtomic> all{participants.data(),
                                                             table::participants_max};
                table::unlink_and_free<SteppedAtomic>(by.blocks, all[number].freeing, number,
                                                      table::number_of(block),
                                                      table::Spare::second_word, unlink);
            };
    }

    bool end_all(table::Stepped& by, std::uint32_t number, bool is_victim_gone) {
        return loans.end_all(
            number, is_dead,
            [&](std::uint32_t process) { return is_victim_gone || process == process_gone; },
            freeing_by(by, number));
    }

    void act() {
        table::Stepped by = user(test::victim);
        by.blocks.set_loans(loans);
        (void)loans.end_own(blocks[0], process_of_victim, freeing_by(by, test::victim));
        (void)end_all(by, test::victim, false);
        (void)loans.end_own(blocks[2], process_of_victim, freeing_by(by, test::victim));
    }

    bool recover_structure(table::Stepped& by, std::uint32_t dead) {
        const std::uint32_t number = &by == &own ? test::survivor : test::helper;
        by.blocks.set_loans(loans);
        return by.table.recover(dead, is_dead) && end_all(by, number, true) &&
               by.table.recover(dead, is_dead);
    }

    void expect_nothing_left(const std::string& when) const {
        EXPECT_EQ(shared.blocks_in_use(), 0U) << when;
    }

    heap::SharedPages words{SteppedLoans::bytes(loans_max)};
    SteppedLoans loans{words.data(), loans_max};
    std::array<heap::Offset, loans_max> blocks{};
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

}  // namespace
}  // namespace acp::allocator
