// SPDX-License-Identifier: BSD-3-Clause
// Which hash a table has for its keys, chosen at run time. Pure; any thread. Tests: tests/unit/hash/hash_function_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hash/crc64.hpp"
#include "hash/xxh3.hpp"

namespace acp::hash {

enum class HashFunction : std::uint8_t {
    crc64,  // key_hash of hash/crc64.hpp: what the paper on the map says
    xxh3    // for all else
};

// The hash of a key. Its lower key_hash_bits count; those of crc64 are no more.
//   seed  any value, the same for all keys of a table; crc64 has none and ignores it
//   key   any length, 0 included
[[nodiscard]] inline std::uint64_t hash_of(HashFunction function,
                                           std::uint64_t seed,
                                           std::span<const std::byte> key) noexcept {
    return function == HashFunction::crc64 ? key_hash(key) : xxh3(key, seed);
}

}  // namespace acp::hash
