// SPDX-License-Identifier: BSD-3-Clause
// Looks up and marks serial numbers in the sliding bitmap. One thread.
#include "datagram/duplicate_window.hpp"

namespace acp::datagram {

// WIRE-45
DuplicateWindow::Seen DuplicateWindow::look(Dsn dsn) const noexcept {
    const Dsn ahead = dsn - base_;  // modulo 2^32: large values lie behind base_
    if (ahead >= 1U << 31) return base_ - dsn <= past_max ? Seen::duplicate : Seen::too_old;
    if (ahead >= span) return Seen::too_far;
    const Dsn bit = dsn % span;
    return (bits_[bit / 64] >> (bit % 64) & 1) != 0 ? Seen::duplicate : Seen::fresh;
}

DuplicateWindow::Seen DuplicateWindow::insert(Dsn dsn) noexcept {
    const Seen seen = look(dsn);
    if (seen != Seen::fresh) return seen;
    if (dsn != base_) {
        const Dsn bit = dsn % span;
        bits_[bit / 64] |= std::uint64_t{1} << (bit % 64);
        ++beyond_;
        return seen;
    }
    ++base_;
    // The window moves to the first missing number. Bits it leaves are cleared for the numbers one
    // span later.
    while (beyond_ != 0) {
        const Dsn bit = base_ % span;
        const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
        if ((bits_[bit / 64] & mask) == 0) break;
        bits_[bit / 64] &= ~mask;
        --beyond_;
        ++base_;
    }
    return seen;
}

}  // namespace acp::datagram
