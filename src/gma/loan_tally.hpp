// SPDX-License-Identifier: BSD-3-Clause
// Which commands of a queue have a loan (Command::loan): how many are outstanding, and which loans
// belong to commands that ended without ever becoming ready, so that no carrier ends them. Knows no
// memory. One thread at a time, under the queue's lock. Tests:
// tests/unit/gma/command_pair_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "memory/command.hpp"

namespace acp::gma {

class LoanTally {
public:
    // Bit n % 64 of word n / 64 is loan n's.
    using Set = std::array<std::uint64_t, (memory::Command::loans_max + 1) / 64>;

    // How many outstanding commands have a loan.
    [[nodiscard]] std::uint64_t lent() const noexcept { return lent_; }

    void note_admitted(const memory::Command& command) noexcept {
        if (command.loan() != 0) ++lent_;
    }

    void note_ended(const memory::Command& command) noexcept {
        if (command.loan() != 0) --lent_;
    }

    // The command will never run, and no carrier will end it.
    void note_lapsed(const memory::Command& command) noexcept {
        if (const std::uint32_t loan = command.loan(); loan != 0) {
            lapsed_[loan / 64] |= 1ULL << loan % 64;
            has_lapsed_ = true;
        }
    }

    // Whether any have lapsed since the last take_lapsed().
    [[nodiscard]] bool has_lapsed() const noexcept { return has_lapsed_; }

    [[nodiscard]] Set take_lapsed() noexcept {
        has_lapsed_ = false;
        return std::exchange(lapsed_, Set{});
    }

private:
    std::uint64_t lent_ = 0;
    bool has_lapsed_ = false;
    Set lapsed_{};
};

}  // namespace acp::gma
