// SPDX-License-Identifier: BSD-3-Clause
// The two ways to compute hash/crc64.hpp, and what both of them need. For crc64.cpp, which chooses
// one, and for tests. Both give the same result for all bytes. Pure; any thread. Tests:
// tests/unit/hash/crc64_test.cpp.
//
// Bytes are a polynomial over GF(2): the first bit is the coefficient of the highest power. The CRC
// of n bytes M is the remainder of M(x) * x^64 by the generator P(x) = x^64 + crc64_polynomial. As
// zeros in front of M change nothing, both ways begin with the odd bytes in front, and have whole
// words from then on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace acp::hash {

static_assert(std::endian::native == std::endian::little, "the words below are turned round");

// the coefficients below x^64
inline constexpr std::uint64_t crc64_polynomial = 0x42F0E1EBA9EA3693U;

// The remainder of value(x) * x by P(x).
[[nodiscard]] constexpr std::uint64_t crc64_times_x(std::uint64_t value) noexcept {
    return value << 1 ^ (value >> 63 != 0 ? crc64_polynomial : 0);
}

// Eight bytes, the first one most significant.
[[nodiscard]] inline std::uint64_t eight_bytes(const std::byte* bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return __builtin_bswap64(word);
}

[[nodiscard]] inline std::uint64_t four_bytes(const std::byte* bytes) noexcept {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return __builtin_bswap32(word);
}

// A few bytes as a number, the first one most significant.
//   count  0 .. 8
[[nodiscard]] inline std::uint64_t few_bytes(const std::byte* bytes, std::size_t count) noexcept {
    // From 4 bytes on two words overlap, and below 4 two bytes may be the same one: where they do
    // their bits are equal.
    if (count >= 4) return four_bytes(bytes) << 8 * (count - 4) | four_bytes(bytes + count - 4);
    if (count == 0) return 0;
    const std::size_t middle = count / 2;
    return std::to_integer<std::uint64_t>(bytes[0]) << 8 * (count - 1) |
           std::to_integer<std::uint64_t>(bytes[middle]) << 8 * (count - 1 - middle) |
           std::to_integer<std::uint64_t>(bytes[count - 1]);
}

// By tables, eight bytes a step. On every architecture.
[[nodiscard]] std::uint64_t crc64_by_tables(std::span<const std::byte> bytes) noexcept;

// Whether crc64_by_multiplication may be called: the architecture has it, and so has this
// processor.
[[nodiscard]] bool has_crc64_by_multiplication() noexcept;

// By carry-less multiplication, 128 bytes a step. Where has_crc64_by_multiplication() is false the
// process may die.
[[nodiscard]] std::uint64_t crc64_by_multiplication(std::span<const std::byte> bytes) noexcept;

}  // namespace acp::hash
