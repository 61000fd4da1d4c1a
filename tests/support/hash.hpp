// SPDX-License-Identifier: BSD-3-Clause
// A hash for tests.
#pragma once

#include <cstdint>
#include <string_view>

namespace acp::test {

// FNV-1a with a final mix, so that all bits depend on all bytes.
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view text) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93;
    return hash ^ hash >> 32;
}

}  // namespace acp::test
