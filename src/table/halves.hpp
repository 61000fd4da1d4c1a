// SPDX-License-Identifier: BSD-3-Clause
// How growth divides the entries of a bucket. Tests: tests/unit/table/concurrency_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "table/ground.hpp"
#include "table/position.hpp"

namespace acp::table {

// Which of the two target buckets in the next array gets an entry: 0, the one of the same
// index, or 1.
template <template <class> class Atomic>
class Halves {
public:
    Halves(const Head<Atomic>& head, const Root& root, std::uint64_t index) noexcept
        : head_(head), to_(root.to), index_(index) {
        if (head.slots_mask == 0 && head.slots != 1) return;
        const auto bit =
            static_cast<std::uint32_t>(std::countr_zero(head.slots)) + split_last_bits + root.from;
        if (bit < slot::fragment_at || bit >= slot::fragment_at + slot::fragment_bits) return;
        bit_ = bit - slot::fragment_at;
        are_in_slots_ = true;
    }

    // Whether the slots' fragments decide it. Then all helpers, however late, compute the same.
    [[nodiscard]] bool are_in_slots() const noexcept { return are_in_slots_; }

    [[nodiscard]] std::uint64_t of(const Ground<Atomic>& ground,
                                   std::uint64_t word) const noexcept {
        if (are_in_slots_) [[likely]]
            return slot::fragment_in(word) >> bit_ & 1;
        // The record may have been replaced or erased and reused; its bucket was migrated
        // before that, so the result is not used
        const BlockNumber record = slot::record_in(word);
        if (!ground.has_head(record)) return 0;
        const std::uint64_t first = ground.record(record).claim.load(std::memory_order_relaxed);
        return head_.index_of(claim::hash_in(first, slot::fragment_in(word)), to_) == index_ ? 0
                                                                                             : 1;
    }

private:
    const Head<Atomic>& head_;
    std::uint32_t to_;
    std::uint64_t index_;
    std::uint32_t bit_ = 0;
    bool are_in_slots_ = false;
};

}  // namespace acp::table
