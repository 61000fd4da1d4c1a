// SPDX-License-Identifier: BSD-3-Clause
// The heap's word for a unit of 16 KiB: its use and, during an operation on it, the cache of the
// operating thread. The word is authoritative: a unit belongs to the thread that changed its word
// from free to claimed. Zero, as on a fresh page, is a free unit. Values; any thread.
#pragma once

#include <cstdint>

namespace acp::heap {

// A span or a large block is its head, the first unit, and parts. While it is made its units are
// claimed; opening and freeing are states of the head, while its parts are being written or given
// up.
enum class UnitState : std::uint8_t {
    free,
    claimed,     // reserved by its holder for a span or a large block
    opening,     // head: all units are claimed, and become parts
    span,        // head of small blocks
    span_part,   // `back` units behind its head
    large,       // head of one large block
    large_part,  // belongs to the nearest head before it
    freeing      // head: its holder gives the parts up, last to first
};

// A thread that uses the heap, as a number among all threads of the node (heap/thread_cache.hpp).
using CacheNumber = std::uint32_t;
inline constexpr CacheNumber caches_max = 0xffff;

// The caches of one process: numbers that follow each other.
struct CacheNumbers {
    CacheNumber first = 0;
    std::uint32_t count = 1;

    [[nodiscard]] constexpr bool contain(CacheNumber number) const noexcept {
        return number >= first && number - first < count;
    }
};

inline constexpr std::uint32_t no_size_class = 127;

struct UnitWord {
    UnitState state = UnitState::free;
    std::uint32_t size_class =
        0;  // class of a span and its parts; no_size_class: a large block that is being made or freed
    std::uint32_t back = 0;    // a span part's distance from the head
    std::uint32_t holder = 0;  // cache number + 1; 0: none
    std::uint32_t units = 0;   // a head's length
    // In the head of a held span: cache number + 1 of the thief that is about to take the span from
    // its holder; 0: none
    std::uint32_t thief = 0;

    [[nodiscard]] constexpr bool is_held_by(CacheNumber cache) const noexcept {
        return holder == cache + 1;
    }

    [[nodiscard]] constexpr bool is_held_by_any(CacheNumbers caches) const noexcept {
        return holder != 0 && caches.contain(holder - 1);
    }

    [[nodiscard]] constexpr bool is_being_stolen_by_any(CacheNumbers caches) const noexcept {
        return thief != 0 && caches.contain(thief - 1);
    }

    // A span is short, so the upper half of the field for its units holds the thief.
    [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
        return static_cast<std::uint64_t>(state) | std::uint64_t{size_class} << 3 |
               std::uint64_t{back} << 10 | std::uint64_t{holder} << 16 |
               std::uint64_t{units} << 32 | std::uint64_t{thief} << 48;
    }

    [[nodiscard]] static constexpr UnitWord unpacked(std::uint64_t word) noexcept {
        const auto state = static_cast<UnitState>(word & 7);
        const bool is_span = state == UnitState::span;
        return {state,
                static_cast<std::uint32_t>(word >> 3 & 127),
                static_cast<std::uint32_t>(word >> 10 & 63),
                static_cast<std::uint32_t>(word >> 16 & 0xffff),
                static_cast<std::uint32_t>(is_span ? word >> 32 & 0xffff : word >> 32),
                static_cast<std::uint32_t>(is_span ? word >> 48 : 0)};
    }
};

}  // namespace acp::heap
