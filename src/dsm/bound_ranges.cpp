// SPDX-License-Identifier: BSD-3-Clause
// The two tables, changed together.
#include "dsm/bound_ranges.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>

namespace acp::dsm {

void BoundRanges::bind(memory::GlobalAddress lock,
                       std::uint64_t first,
                       std::uint64_t bytes,
                       BoundWay way) {
    auto range = std::make_unique<BoundRange>();
    range->lock = lock;
    range->first = first;
    range->bytes = bytes;
    range->way = way;
    range->serial = next_serial();
    range->log = pages::ChangeLog(range->first_release());
    by_place_.reserve(by_place_.size() + 1);
    std::vector<BoundRange*> table(std::bit_ceil(2 * (by_place_.size() + 1)));
    const std::unique_lock guard(mutex_);
    by_place_.insert(first_behind(first), std::move(range));
    of_lock_.swap(table);
    fill_table();
    ++serial_;
}

// All places are free before.
void BoundRanges::fill_table() noexcept {
    for (const auto& range : by_place_) {
        std::size_t i = place_of(range->lock);
        while (of_lock_[i] != nullptr) i = (i + 1) & (of_lock_.size() - 1);
        of_lock_[i] = range.get();
    }
    count_.store(by_place_.size(), std::memory_order_relaxed);
}

void BoundRanges::unbind(memory::GlobalAddress lock) noexcept {
    const std::unique_lock guard(mutex_);
    std::erase_if(by_place_, [lock](const auto& range) { return range->lock == lock; });
    std::fill(of_lock_.begin(), of_lock_.end(), nullptr);
    fill_table();
}

const BoundRange* BoundRanges::other_in(memory::GlobalAddress lock,
                                        std::uint64_t first,
                                        std::uint64_t bytes) const noexcept {
    for (auto at = first_behind(first); at != by_place_.end() && (*at)->first < first + bytes;
         ++at) {
        if ((*at)->lock != lock) return at->get();
    }
    return nullptr;
}

}  // namespace acp::dsm
