// SPDX-License-Identifier: BSD-3-Clause
// The hash of keys for which no CRC is asked: XXH3 of the xxHash library, 64 bits, with a seed. It
// spreads all bits, of whatever keys, better than a CRC. Who does not know the seed cannot easily
// choose keys that fall together; there is no proof of that, as there is for none of its speed.
// Pure; any thread. Tests: tests/unit/hash/xxh3_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace acp::hash {

// XXH3_64bits_withSeed of xxHash 0.8 and later: the same value on every machine.
//   bytes  any length, 0 included; any alignment
//   seed   any value; all who are to agree on a key's hash have the same
[[nodiscard]] std::uint64_t xxh3(std::span<const std::byte> bytes, std::uint64_t seed) noexcept;

}  // namespace acp::hash
