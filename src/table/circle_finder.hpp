// SPDX-License-Identifier: BSD-3-Clause
// Finds that a list of blocks leads back to itself, which only a program that overwrote its words
// can have caused. Needs a comparison per block, and no memory.
// Source: R. P. Brent, An improved Monte Carlo factorization algorithm, BIT 20 (1980). Tests:
// tests/unit/table/damage_test.cpp.
#pragma once

#include <cstdint>

#include "table/words.hpp"

namespace acp::table {

class CircleFinder {
public:
    // Called with each block of a list in turn. True: the list is circular. A circular list of n
    // blocks is found after at most 3 n calls.
    [[nodiscard]] bool is_back_at(BlockNumber block) noexcept {
        if (block == mark_) return true;
        if (++seen_ == mark_at_) {
            mark_ = block;
            mark_at_ *= 2;
        }
        return false;
    }

private:
    BlockNumber mark_ = 0;
    std::uint64_t seen_ = 0;
    std::uint64_t mark_at_ = 1;
};

}  // namespace acp::table
