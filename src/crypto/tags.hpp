// SPDX-License-Identifier: BSD-3-Clause
// Compares authentication tags in constant time, so that an attacker cannot find a tag byte by
// byte. Knows no library. Any thread.
// Tests: tests/unit/crypto/suite_test.cpp.
#pragma once

#include <array>
#include <cstddef>

#include "datagram/cipher.hpp"

namespace acp::crypto {

using Tag = std::array<std::byte, datagram::tag_bytes>;

//   received  datagram::tag_bytes long
[[nodiscard]] inline bool is_equal(const Tag& computed, datagram::Bytes received) noexcept {
    unsigned difference = 0;
    for (std::size_t i = 0; i < computed.size(); ++i) {
        difference |= std::to_integer<unsigned>(computed[i] ^ received[i]);
    }
    // Keeps the compiler from making this a loop that stops at the first difference.
    asm volatile("" : "+r"(difference));
    return difference == 0;
}

}  // namespace acp::crypto
