// SPDX-License-Identifier: BSD-3-Clause
// The only file that includes xxHash. Its header has all its code (XXH_INLINE_ALL, set in
// target.cmake), so nothing is linked and nothing is looked for at run time.
#include "hash/xxh3.hpp"

#include <xxhash.h>

namespace acp::hash {

static_assert(XXH_VERSION_NUMBER >= 800,
              "XXH3 has been the same since xxHash 0.8.0: install that or newer");

namespace {

[[gnu::noinline]] std::uint64_t of_many(std::span<const std::byte> bytes,
                                        std::uint64_t seed) noexcept {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace

std::uint64_t xxh3(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
    // The ways of longer keys need more registers, which would be saved for short keys too.
    constexpr std::size_t few = 32;
    if (bytes.size() > few) return of_many(bytes, seed);
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace acp::hash
