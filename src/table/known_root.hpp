// SPDX-License-Identifier: BSD-3-Clause
// The array of buckets that has all entries of a table while a root is the table's, so that the next find there need not work out again
// where the array lies. A root never comes twice, so this is out of date at worst, and then learned anew. One table; one thread.
// Tests: tests/unit/table, tests/conformance/hashed_view_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "table/ground.hpp"
#include "table/growth.hpp"
#include "table/position.hpp"

namespace acp::table {

template <template <class> class Atomic = std::atomic>
class KnownRoot {
public:
    // Where a find looks, as Growth::spot_for_find() says.
    //   ground, head  of the same table each time
    [[nodiscard, gnu::always_inline]] Spot<Atomic> spot_for_find(const ReadGround<Atomic>& ground,
                                                                 const Head<Atomic>& head,
                                                                 std::uint64_t hash) noexcept {
        // acquire: the array of this root
        const std::uint64_t root = head.root.load(std::memory_order_acquire);
        if (root == root_) [[likely]]
            return {root, buckets_ + index_of(hash)};
        return spot_anew(ground, head, hash);
    }

    void forget() noexcept { root_ = none; }

private:
    // Nothing is known of a table that grows, or whose buckets are another number than a power of two. The ground is a copy, so that the
    // caller's stays in registers.
    [[nodiscard, gnu::noinline]] Spot<Atomic> spot_anew(ReadGround<Atomic> ground,
                                                        const Head<Atomic>& head,
                                                        std::uint64_t hash) noexcept {
        const Spot<Atomic> spot = Growth<Atomic>::spot_for_find(ground, head, hash);
        const Root root = Root::unpacked(spot.root);
        if (root.is_growing() || !std::has_single_bit(head.slots)) return spot;
        slots_mask_ = head.slots - 1;
        splits_mask_ = head.splits_mask(root.from);
        buckets_ = spot.first - index_of(hash);
        root_ = spot.root;
        return spot;
    }

    // As Head::index_of().
    [[nodiscard]] std::uint64_t index_of(std::uint64_t hash) const noexcept {
        return (hash & slots_mask_) | (hash >> split_last_bits & splits_mask_);
    }

    static constexpr std::uint64_t none = ~std::uint64_t{0};  // no table has so many levels

    std::uint64_t root_ = none;
    Bucket<Atomic>* buckets_ = nullptr;
    std::uint64_t slots_mask_ = 0;   // how many there were at first, a power of two, less 1
    std::uint64_t splits_mask_ = 0;  // of the level
};

}  // namespace acp::table
