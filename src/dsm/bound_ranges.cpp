// SPDX-License-Identifier: BSD-3-Clause
// The two tables, changed together.
#include "dsm/bound_ranges.hpp"

#include <mutex>
#include <utility>

namespace acp::dsm {

void BoundRanges::bind(memory::GlobalAddress lock, std::uint64_t first, std::uint64_t bytes) {
    auto range = std::make_unique<BoundRange>();
    range->lock = lock;
    range->first = first;
    range->bytes = bytes;
    BoundRange* const place = range.get();
    by_place_.reserve(by_place_.size() + 1);
    const std::unique_lock guard(mutex_);
    of_lock_.emplace(lock, place);
    by_place_.insert(first_behind(first), std::move(range));
    count_.store(by_place_.size(), std::memory_order_relaxed);
}

void BoundRanges::unbind(memory::GlobalAddress lock) noexcept {
    const std::unique_lock guard(mutex_);
    of_lock_.erase(lock);
    std::erase_if(by_place_, [lock](const auto& range) { return range->lock == lock; });
    count_.store(by_place_.size(), std::memory_order_relaxed);
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
