// SPDX-License-Identifier: BSD-3-Clause
// Caches the bucket array of a table under one root, so that the next lookup there need not compute
// the array's address. A root value never recurs, so the cache is at worst out of date, and then
// filled anew. One table; one thread.
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
    // The bucket for a lookup: the result of Growth::spot_for_find().
    //   ground, head  of the same table at each call
    [[nodiscard, gnu::always_inline]] Spot<Atomic> spot_for_find(const ReadGround<Atomic>& ground,
                                                                 const Head<Atomic>& head,
                                                                 std::uint64_t hash) noexcept {
        // acquire: the array of this root
        const std::uint64_t root = head.root.load(std::memory_order_acquire);
        if (root == root_) [[likely]]
            return {root, buckets_ + index_of(hash)};
        return spot_anew(ground, head, hash);
    }

private:
    // Caches nothing while the table grows, or if its number of buckets is no power of two, or its
    // words lead out of the heap. The ground is a copy, so that the caller's stays in registers.
    [[nodiscard, gnu::noinline]] Spot<Atomic> spot_anew(ReadGround<Atomic> ground,
                                                        const Head<Atomic>& head,
                                                        std::uint64_t hash) noexcept {
        const Spot<Atomic> spot = Growth<Atomic>::spot_for_find(ground, head, hash);
        const Root root = Root::unpacked(spot.root);
        const bool is_whole = Growth<Atomic>::array_in(ground, head, root.from) != nullptr;
        if (root.is_growing() || !is_whole || !std::has_single_bit(head.slots)) return spot;
        slots_mask_ = head.slots - 1;
        splits_mask_ = head.splits_mask(root.from);
        buckets_ = spot.first - index_of(hash);
        root_ = spot.root;
        return spot;
    }

    // Computes Head::index_of() from the cached masks.
    [[nodiscard]] std::uint64_t index_of(std::uint64_t hash) const noexcept {
        return (hash & slots_mask_) | (hash >> split_last_bits & splits_mask_);
    }

    // A root that the program has overwritten by this value leads to nowhere().
    std::uint64_t root_ = Root::none;
    Bucket<Atomic>* buckets_ = &Growth<Atomic>::nowhere();
    std::uint64_t slots_mask_ = 0;  // number of first buckets, a power of two, less 1
    // Head::splits_mask() of the cached level
    std::uint64_t splits_mask_ = 0;
};

}  // namespace acp::table
