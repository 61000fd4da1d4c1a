// SPDX-License-Identifier: BSD-3-Clause
// The only file that includes xxHash. Its header has all its code (XXH_INLINE_ALL, set in target.cmake), so nothing is linked and
// nothing is looked for at run time.
#include "hash/xxh3.hpp"

#include <xxhash.h>

namespace acp::hash {

static_assert(XXH_VERSION_NUMBER >= 800,
              "XXH3 has been the same since xxHash 0.8.0: install that or newer");

std::uint64_t xxh3(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace acp::hash
