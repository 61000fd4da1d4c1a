// SPDX-License-Identifier: BSD-3-Clause
// Copying the payload of a record. What fits into two words, as most short messages do, is copied by loads and stores of the caller's own: the
// call of memcpy, which looks at the length once more, costs as much as the rest of a short send. Pure; any thread.
// Tests: tests/unit/message/payload_copy_test.cpp.
#pragma once

#include <cstdint>
#include <cstring>

namespace acp::message {

// `source` may be anything where bytes is 0. The two do not overlap.
inline void copy_payload(char* target, const void* source, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
    if (bytes - word_bytes <= word_bytes) [[likely]] {
        // 8 .. 16 bytes: the first word and the last one, which may overlap.
        const char* const from = static_cast<const char*>(source);
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        std::memcpy(&first, from, word_bytes);
        std::memcpy(&last, from + bytes - word_bytes, word_bytes);
        std::memcpy(target, &first, word_bytes);
        std::memcpy(target + bytes - word_bytes, &last, word_bytes);
    } else if (bytes != 0) {
        std::memcpy(target, source, bytes);
    }
}

}  // namespace acp::message
