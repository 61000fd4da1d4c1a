// SPDX-License-Identifier: BSD-3-Clause
// Copies between a thread's own memory and a body that other threads may write or read
// concurrently. A reader detects afterwards that its data is inconsistent and discards it, but it
// must read by atomics all the same. A content may wrap around the body's end.
// Tests: tests/unit/sequence/sequence_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace acp::sequence {

namespace detail {

inline constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

// Bytes before the first aligned word.
[[nodiscard]] inline std::uint64_t before_words(const char* shared, std::uint64_t bytes) noexcept {
    const auto place = reinterpret_cast<std::uintptr_t>(shared);
    return std::min<std::uint64_t>((word_bytes - place % word_bytes) % word_bytes, bytes);
}

[[nodiscard]] inline std::atomic_ref<char> byte_at(char* shared) noexcept {
    return std::atomic_ref<char>(*shared);
}

[[nodiscard]] inline std::atomic_ref<std::uint64_t> word_at(char* shared) noexcept {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(shared));
}

}  // namespace detail

// relaxed: the operation word orders the bytes of a body, here and below
inline void copy_from_shared(char* target, char* shared, std::uint64_t bytes) noexcept {
    std::uint64_t i = 0;
    const auto copy_bytes = [&](std::uint64_t end) {
        for (; i < end; ++i)
            target[i] = detail::byte_at(shared + i).load(std::memory_order_relaxed);
    };
    copy_bytes(detail::before_words(shared, bytes));
    for (; bytes - i >= detail::word_bytes; i += detail::word_bytes) {
        const std::uint64_t word = detail::word_at(shared + i).load(std::memory_order_relaxed);
        std::memcpy(target + i, &word, sizeof word);
    }
    copy_bytes(bytes);
}

inline void copy_to_shared(char* shared, const char* source, std::uint64_t bytes) noexcept {
    std::uint64_t i = 0;
    const auto copy_bytes = [&](std::uint64_t end) {
        for (; i < end; ++i)
            detail::byte_at(shared + i).store(source[i], std::memory_order_relaxed);
    };
    copy_bytes(detail::before_words(shared, bytes));
    for (; bytes - i >= detail::word_bytes; i += detail::word_bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, source + i, sizeof word);
        detail::word_at(shared + i).store(word, std::memory_order_relaxed);
    }
    copy_bytes(bytes);
}

// A content in a body, which may wrap around the body's end.
struct BodyRing {
    char* content = nullptr;
    std::uint64_t capacity = 0;
    std::uint64_t first = 0;  // < capacity, or 0

    // The offset of the byte with an index.   index  <= capacity
    [[nodiscard]] std::uint64_t place(std::uint64_t index) const noexcept {
        return index < capacity - first ? first + index : index - (capacity - first);
    }

    // The number of contiguous bytes from an index on.
    [[nodiscard]] std::uint64_t in_one_piece(std::uint64_t index,
                                             std::uint64_t bytes) const noexcept {
        return std::min(bytes, capacity - place(index));
    }

    void read(std::uint64_t index, char* target, std::uint64_t bytes) const noexcept {
        if (bytes == 0) return;
        const std::uint64_t piece = in_one_piece(index, bytes);
        copy_from_shared(target, content + place(index), piece);
        if (piece < bytes) copy_from_shared(target + piece, content, bytes - piece);
    }

    void write(std::uint64_t index, const char* source, std::uint64_t bytes) const noexcept {
        if (bytes == 0) return;
        const std::uint64_t piece = in_one_piece(index, bytes);
        copy_to_shared(content + place(index), source, piece);
        if (piece < bytes) copy_to_shared(content, source + piece, bytes - piece);
    }
};

}  // namespace acp::sequence
