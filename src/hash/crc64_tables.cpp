// SPDX-License-Identifier: BSD-3-Clause
// Eight bytes a step: each looks up what it adds to the remainder, in the table of its place
// (slicing by 8: Kounavis and Berry, ISCC 2005).
#include <array>

#include "hash/crc64_ways.hpp"

namespace acp::hash {

namespace {

using Table = std::array<std::uint64_t, 256>;

// tables[k][b]: the remainder of b(x) * x^(64 + 8k).
constexpr std::array<Table, 8> make_tables() noexcept {
    std::array<Table, 8> tables{};
    for (std::uint64_t b = 0; b < 256; ++b) {
        std::uint64_t remainder = b << 56;
        for (int bit = 0; bit < 8; ++bit) remainder = crc64_times_x(remainder);
        tables[0][b] = remainder;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t b = 0; b < 256; ++b) {
            const std::uint64_t below = tables[k - 1][b];
            tables[k][b] = below << 8 ^ tables[0][below >> 56];
        }
    }
    return tables;
}

constexpr std::array<Table, 8> tables = make_tables();

// The remainder of word(x) * x^64.
std::uint64_t remainder_of(std::uint64_t word) noexcept {
    return tables[7][word >> 56] ^ tables[6][word >> 48 & 0xff] ^ tables[5][word >> 40 & 0xff] ^
           tables[4][word >> 32 & 0xff] ^ tables[3][word >> 24 & 0xff] ^
           tables[2][word >> 16 & 0xff] ^ tables[1][word >> 8 & 0xff] ^ tables[0][word & 0xff];
}

}  // namespace

std::uint64_t crc64_by_tables(std::span<const std::byte> bytes) noexcept {
    const std::size_t odd = bytes.size() % 8;
    std::uint64_t crc = remainder_of(few_bytes(bytes.data(), odd));
    for (std::size_t at = odd; at < bytes.size(); at += 8) {
        crc = remainder_of(crc ^ eight_bytes(bytes.data() + at));
    }
    return crc;
}

}  // namespace acp::hash
