// SPDX-License-Identifier: BSD-3-Clause
// Converts byte spans to the pointers that C libraries of ciphers take. Pure; any thread.
#pragma once

#include "datagram/cipher.hpp"

namespace acp::crypto {

[[nodiscard]] inline const unsigned char* unsigned_of(datagram::Bytes bytes) noexcept {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

[[nodiscard]] inline unsigned char* unsigned_of(datagram::MutableBytes bytes) noexcept {
    return reinterpret_cast<unsigned char*>(bytes.data());
}

}  // namespace acp::crypto
