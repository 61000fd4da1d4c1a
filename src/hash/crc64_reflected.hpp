// SPDX-License-Identifier: BSD-3-Clause
// The CRC of the same polynomial as hash/crc64.hpp in the form of ACP 3.0's published code: bits
// are taken least significant first, the register starts with all ones, and is inverted at the end
// (the catalogue's CRC-64/XZ). For programs that need the placement of keys that 3.0 has. Pure; any
// thread. Tests: tests/unit/hash/crc64_reflected_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hash/crc64.hpp"

namespace acp::hash {

// "123456789" has 0x995dc9bbdf1939fa. By tables of 16 KiB, eight bytes a step.
//   bytes  any length and alignment
[[nodiscard]] std::uint64_t crc64_reflected(std::span<const std::byte> bytes) noexcept;

// The hash of a key: the upper 48 bits. Source: contract row 39.
[[nodiscard]] inline std::uint64_t key_hash_reflected(std::span<const std::byte> key) noexcept {
    return crc64_reflected(key) >> (64 - key_hash_bits);
}

}  // namespace acp::hash
