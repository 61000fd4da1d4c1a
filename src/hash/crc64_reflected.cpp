// SPDX-License-Identifier: BSD-3-Clause
// Slicing by 8 (Kounavis and Berry, ISCC 2005), least significant bit first: a word of the input is
// one of the machine.
#include "hash/crc64_reflected.hpp"

#include <array>
#include <cstring>

#include "hash/crc64_ways.hpp"

namespace acp::hash {

namespace {

using ReflectedTable = std::array<std::uint64_t, 256>;

constexpr std::uint64_t reflected_polynomial = 0xC96C5795D7870F42U;

constexpr bool is_reflection(std::uint64_t word, std::uint64_t other) noexcept {
    for (int bit = 0; bit < 64; ++bit) {
        if ((word >> bit & 1) != (other >> (63 - bit) & 1)) return false;
    }
    return true;
}

static_assert(is_reflection(reflected_polynomial, crc64_polynomial));

// tables[k][b]: what byte b adds to the register, k bytes before the end of a word.
constexpr std::array<ReflectedTable, 8> make_reflected_tables() noexcept {
    std::array<ReflectedTable, 8> tables{};
    for (std::uint64_t b = 0; b < 256; ++b) {
        std::uint64_t remainder = b;
        for (int bit = 0; bit < 8; ++bit)
            remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? reflected_polynomial : 0);
        tables[0][b] = remainder;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t b = 0; b < 256; ++b) {
            const std::uint64_t above = tables[k - 1][b];
            tables[k][b] = above >> 8 ^ tables[0][above & 0xff];
        }
    }
    return tables;
}

constexpr std::array<ReflectedTable, 8> reflected_tables = make_reflected_tables();

}  // namespace

std::uint64_t crc64_reflected(std::span<const std::byte> bytes) noexcept {
    std::uint64_t crc = ~std::uint64_t{0};
    std::size_t at = 0;
    for (; bytes.size() - at >= 8; at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        word ^= crc;
        crc = 0;
        for (std::size_t k = 0; k < reflected_tables.size(); ++k)
            crc ^= reflected_tables[7 - k][word >> 8 * k & 0xff];
    }
    for (; at < bytes.size(); ++at) {
        crc = crc >> 8 ^
              reflected_tables[0][(crc ^ std::to_integer<std::uint64_t>(bytes[at])) & 0xff];
    }
    return ~crc;
}

}  // namespace acp::hash
