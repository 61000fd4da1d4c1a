// SPDX-License-Identifier: BSD-3-Clause
// Bytes written as hexadecimal digits, and back, for test vectors. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace acp::crypto::test {

using ByteVector = std::vector<std::byte>;

inline unsigned digit(char text) {
    return static_cast<unsigned>(text <= '9' ? text - '0' : text - 'a' + 10);
}

// Pairs of lower-case digits.
inline ByteVector from_hex(std::string_view text) {
    ByteVector bytes(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
    }
    return bytes;
}

inline std::string to_hex(const ByteVector& bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        const auto value = std::to_integer<unsigned>(byte);
        text += "0123456789abcdef"[value / 16];
        text += "0123456789abcdef"[value % 16];
    }
    return text;
}

inline ByteVector from_text(std::string_view text) {
    ByteVector bytes;
    for (const char letter : text) bytes.push_back(static_cast<std::byte>(letter));
    return bytes;
}

// first, first + 1, ...
inline ByteVector counted(unsigned first, std::size_t count) {
    ByteVector bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + i);
    return bytes;
}

}  // namespace acp::crypto::test
