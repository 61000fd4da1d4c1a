// SPDX-License-Identifier: BSD-3-Clause
// What one thread remembers of a heap: the span of each size class that it takes blocks from, which is its own until it gives it
// up, and where it looks for free units. Private memory: nothing in it is needed to recover a cache whose process was killed.
// One thread at a time.
#pragma once

#include <array>
#include <cstdint>

#include "heap/size_classes.hpp"
#include "heap/unit_word.hpp"

namespace acp::heap {

inline constexpr std::uint32_t no_unit = ~0U;

class ThreadCache {
public:
    //   number  < HeapShape::caches, of no other cache of this heap. A number is free again when the cache that had it has let go
    //           of its spans (Heap::let_go), or was recovered (Heap::recover).
    explicit ThreadCache(CacheNumber number) noexcept : number_(number) {}

    [[nodiscard]] CacheNumber number() const noexcept { return number_; }

    struct Hold {
        std::uint32_t head = no_unit;
        std::uint32_t word =
            0;  // of the span's bits; those before it had no free block when they were looked at
    };

    [[nodiscard]] Hold& hold(std::uint32_t size_class) noexcept { return holds_[size_class]; }

    // The area from which a search for so many units begins.
    [[nodiscard]] std::uint32_t& search_from(std::uint32_t units) noexcept {
        return search_from_[units < search_from_.size() ? units : 0];
    }

private:
    CacheNumber number_;
    std::array<Hold, size_class_count> holds_{};
    std::array<std::uint32_t, span_units_max + 1> search_from_{};
};

}  // namespace acp::heap
