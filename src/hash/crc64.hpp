// SPDX-License-Identifier: BSD-3-Clause
// The CRC by which the map of ACP's data library spreads its keys, as the paper on it says. A CRC
// has no seed: a user who chooses the keys can choose their slots, and so slow a table down. XXH3
// is for such keys. Pure; any thread.
// Tests: tests/unit/hash/crc64_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace acp::hash {

// CRC-64 with the polynomial of ECMA-182, 0x42F0E1EBA9EA3693, most significant bit first; the
// register starts with 0, and nothing is inverted. So "123456789" has 0x6c40df5f0b497347, and zeros
// in front of the bytes change nothing. Takes the processor's carry-less multiplication where there
// is one, else tables of 16 KiB.
//   bytes  any length, 0 (which gives 0) included; any alignment
[[nodiscard]] std::uint64_t crc64(std::span<const std::byte> bytes) noexcept;

// The bits that the hash of a key has.
inline constexpr int key_hash_bits = 48;

// The hash of a key in that map: the upper 48 bits of its CRC.
//   key  any length, 0 included
// Source: the paper, section 3.1: the 64-bit CRC of generator polynomial 0x42F0E1EBA9EA3693,
// shifted right by 16 bits. It says nothing of the order of bits, the register's start and an
// inversion, which are the plain ones here.
[[nodiscard]] inline std::uint64_t key_hash(std::span<const std::byte> key) noexcept {
    return crc64(key) >> (64 - key_hash_bits);
}

}  // namespace acp::hash
