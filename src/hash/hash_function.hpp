// SPDX-License-Identifier: BSD-3-Clause
// Which hash a table has for its keys, chosen at run time. Pure; any thread. Tests:
// tests/unit/hash/hash_function_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hash/crc64.hpp"
#include "hash/crc64_reflected.hpp"
#include "hash/xxh3.hpp"

namespace acp::hash {

enum class HashFunction : std::uint8_t {
    crc64,           // key_hash of hash/crc64.hpp: what the paper on the map says
    xxh3,            // the default
    crc64_reflected  // key_hash_reflected: what ACP 3.0 does
};

inline constexpr HashFunction last_function = HashFunction::crc64_reflected;

// The hash of a key. Its lower key_hash_bits count; those of a CRC are no more.
//   seed  any value, the same for all keys of a table; a CRC has none and ignores it
//   key   any length, 0 included
[[nodiscard]] inline std::uint64_t hash_of(HashFunction function,
                                           std::uint64_t seed,
                                           std::span<const std::byte> key) noexcept {
    if (function == HashFunction::xxh3) [[likely]]
        return xxh3(key, seed);
    return function == HashFunction::crc64 ? key_hash(key) : key_hash_reflected(key);
}

}  // namespace acp::hash
