// SPDX-License-Identifier: BSD-3-Clause
// Runs of set bits in a word of 64 bits. Values; any thread.
// Tests: tests/unit/heap/free_areas_test.cpp.
#pragma once

#include <cstdint>

namespace acp::heap {

inline constexpr std::uint32_t word_bits = 64;

//   bits  1 .. 64 - first
[[nodiscard]] constexpr std::uint64_t mask_of(std::uint32_t first, std::uint32_t bits) noexcept {
    return (~std::uint64_t{0} >> (word_bits - bits)) << first;
}

// The places at which a run of `length` set bits begins, a bit each.
//   length  1 .. 64
[[nodiscard]] constexpr std::uint64_t runs_in(std::uint64_t bits, std::uint32_t length) noexcept {
    std::uint32_t known = 1;
    for (; known * 2 <= length; known *= 2) bits &= bits >> known;
    return length > known ? bits & bits >> (length - known) : bits;
}

// The places that are multiples of a power of two, a bit each.
[[nodiscard]] constexpr std::uint64_t aligned_places(std::uint32_t alignment) noexcept {
    constexpr std::uint64_t all = ~std::uint64_t{0};
    if (alignment == 1) return all;
    // All ones divided by the ones of `alignment` bits: the lowest bit of each group.
    return alignment < word_bits ? all / ((std::uint64_t{1} << alignment) - 1) : 1;
}

}  // namespace acp::heap
