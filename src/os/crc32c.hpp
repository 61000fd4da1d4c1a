// SPDX-License-Identifier: BSD-3-Clause
// CRC-32C (Castagnoli) of one word, by the processor's instruction where the build's instruction
// set has one (x86-64-v2 has), else by tables. Words that differ in at most 32 neighbouring bits
// never have the same CRC. Knows nothing of what is checked. Any thread.
// Tests: tests/unit/os/crc32c_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace acp::os {

namespace detail {

using Crc32cTables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: the register after byte b and k zero bytes.
constexpr Crc32cTables make_crc32c_tables() noexcept {
    constexpr std::uint32_t polynomial = 0x82f63b78;  // bits reflected
    Crc32cTables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) != 0 ? polynomial : 0);
        tables[0][byte] = rest;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = tables[k - 1][byte];
            tables[k][byte] = before >> 8 ^ tables[0][before & 0xff];
        }
    }
    return tables;
}

inline constexpr Crc32cTables crc32c_tables = make_crc32c_tables();

}  // namespace detail

// crc32c_of_word() by tables, for processors without the instruction.
[[nodiscard]] constexpr std::uint32_t crc32c_of_word_by_tables(std::uint32_t state,
                                                               std::uint64_t word) noexcept {
    word ^= state;
    std::uint32_t sum = 0;
    for (std::size_t k = 0; k < 8; ++k) sum ^= detail::crc32c_tables[k][word >> 8 * (7 - k) & 0xff];
    return sum;
}

// The register of the CRC after the eight bytes of a word, lowest first. It is neither inverted
// before nor after.
//   state  the register before the word: a start value, or the result for the word before
[[nodiscard]] inline std::uint32_t crc32c_of_word(std::uint32_t state,
                                                  std::uint64_t word) noexcept {
#if defined(__SSE4_2__)
    return static_cast<std::uint32_t>(__builtin_ia32_crc32di(state, word));
#elif defined(__ARM_FEATURE_CRC32)
    return __crc32cd(state, word);
#else
    return crc32c_of_word_by_tables(state, word);
#endif
}

}  // namespace acp::os
