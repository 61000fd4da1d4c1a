// SPDX-License-Identifier: BSD-3-Clause
// One thread's cache of a heap: for each size class the span that it takes blocks from and holds
// until it gives it up, and the areas where its searches for free units begin. In shared memory or
// not: no other thread reads it, and recovery of a killed process does not need it. Zero bytes are
// an empty cache. One thread at a time.
#pragma once

#include <array>
#include <cstdint>

#include "heap/size_classes.hpp"
#include "heap/unit_word.hpp"

namespace acp::heap {

inline constexpr std::uint32_t no_unit = ~0U;

class ThreadCache {
public:
    //   number  < HeapShape::caches, unique in this heap. A number is free again after its cache
    //           has given up its spans (Heap::let_go), or was recovered (Heap::recover).
    explicit ThreadCache(CacheNumber number) noexcept : number_(number) {}

    [[nodiscard]] CacheNumber number() const noexcept { return number_; }

    // Called before the first use of a cache that was made by clearing memory.
    void set_number(CacheNumber number) noexcept { number_ = number; }

    // The held span of one size class.
    class Hold {
    public:
        // The span's first unit; no_unit: the cache holds none.
        [[nodiscard]] std::uint32_t head() const noexcept { return ~inverted_head_; }

        [[nodiscard]] bool is_empty() const noexcept { return inverted_head_ == 0; }

        void set_head(std::uint32_t head) noexcept { inverted_head_ = ~head; }

        // Forgets the span. Returns its first unit.
        std::uint32_t drop() noexcept {
            const std::uint32_t dropped = head();
            inverted_head_ = 0;
            return dropped;
        }

        // The packed word of the head of a span of this class that this cache holds. Set before
        // set_head().
        std::uint64_t held_word = 0;

        // The index of a word of the span's bits: the words before it had no free block when they
        // were read.
        std::uint32_t word = 0;

    private:
        std::uint32_t inverted_head_ = 0;
    };

    [[nodiscard]] Hold& hold(std::uint32_t size_class) noexcept { return holds_[size_class]; }

    // The area from which a search for `units` units begins.
    [[nodiscard]] std::uint32_t& search_from(std::uint32_t units) noexcept {
        return search_from_[units < search_from_.size() ? units : 0];
    }

    // The area from which a search for an idle one begins.
    [[nodiscard]] std::uint32_t& give_back_from() noexcept { return give_back_from_; }

private:
    CacheNumber number_;
    std::uint32_t give_back_from_ = 0;
    std::array<Hold, size_class_count> holds_{};
    std::array<std::uint32_t, span_units_max + 1> search_from_{};
};

}  // namespace acp::heap
