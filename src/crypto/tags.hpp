// SPDX-License-Identifier: BSD-3-Clause
// Comparing authentication tags in the same time wherever they differ. Knows no library. Any thread.
// Tests: tests/unit/crypto/suite_test.cpp.
#pragma once

#include <array>
#include <cstddef>

#include "datagram/cipher.hpp"

namespace acp::crypto {

using Tag = std::array<std::byte, datagram::tag_bytes>;

//   received  datagram::tag_bytes
[[nodiscard]] inline bool is_equal(const Tag& computed, datagram::Bytes received) noexcept {
    unsigned difference = 0;
    for (std::size_t i = 0; i < computed.size(); ++i) {
        difference |= std::to_integer<unsigned>(computed[i] ^ received[i]);
    }
    // Not to be turned into a loop that stops early.
    asm volatile("" : "+r"(difference));
    return difference == 0;
}

}  // namespace acp::crypto
