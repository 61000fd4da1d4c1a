// SPDX-License-Identifier: BSD-3-Clause
// Copies the payload of a record. A payload that fits into two words, as most short messages do, is
// copied by inline loads and stores: a call of memcpy, which branches on the length again, costs as
// much as the rest of a short send. Pure; any thread.
// Tests: tests/unit/message/payload_copy_test.cpp.
#pragma once

#include <cstdint>
#include <cstring>

namespace acp::message {

// `source` may have any value if bytes is 0. The two do not overlap.
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

namespace detail {

// Copies the first and the last sizeof(Part) bytes, which may overlap: for sizeof(Part) .. 2 *
// sizeof(Part) bytes.
template <typename Part>
[[gnu::always_inline]] inline void copy_ends(char* target,
                                             const char* source,
                                             std::uint64_t bytes) noexcept {
    Part first{};
    Part last{};
    std::memcpy(&first, source, sizeof first);
    std::memcpy(&last, source + bytes - sizeof last, sizeof last);
    std::memcpy(target, &first, sizeof first);
    std::memcpy(target + bytes - sizeof last, &last, sizeof last);
}

}  // namespace detail

// Copies a payload of 1 .. 64 bytes without a function call: a function that makes no call saves no
// registers.
[[gnu::always_inline]] inline void copy_line(char* target,
                                             const void* source,
                                             std::uint64_t bytes) noexcept {
    struct Half {
        std::uint64_t words[4];
    };

    struct Quarter {
        std::uint64_t words[2];
    };

    const char* const from = static_cast<const char*>(source);
    if (bytes >= sizeof(std::uint64_t)) [[likely]] {
        if (bytes <= sizeof(Quarter)) [[likely]] {
            detail::copy_ends<std::uint64_t>(target, from, bytes);
        } else if (bytes <= sizeof(Half)) {
            detail::copy_ends<Quarter>(target, from, bytes);
        } else {
            detail::copy_ends<Half>(target, from, bytes);
        }
    } else if (bytes >= sizeof(std::uint32_t)) {
        detail::copy_ends<std::uint32_t>(target, from, bytes);
    } else {
        target[0] = from[0];
        target[bytes / 2] = from[bytes / 2];
        target[bytes - 1] = from[bytes - 1];
    }
}

}  // namespace acp::message
