// SPDX-License-Identifier: BSD-3-Clause
// The bytes of an element, in words: a thread that reads a node which is being freed and used anew reads nonsense, finds by the mark that
// it did, and has raced with nobody.
// Tests: tests/unit/list/list_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "list/layout.hpp"

namespace acp::list {

inline constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

// PlainBytes as one caller sees them.
struct PlainBytes {
    const void* data = nullptr;
    std::uint64_t count = 0;
};

template <template <class> class Atomic>
void write_payload(ListNode<Atomic>& node, const PlainBytes& bytes) noexcept {
    auto* const words = reinterpret_cast<Atomic<std::uint64_t>*>(node.payload());
    for (std::uint64_t done = 0; done < bytes.count; done += word_bytes) {
        std::uint64_t word = 0;
        std::memcpy(&word, static_cast<const char*>(bytes.data) + done,
                    std::min(word_bytes, bytes.count - done));
        words[done / word_bytes].store(word, std::memory_order_relaxed);
    }
}

// acquire: what is read afterwards, the mark, is read afterwards
template <template <class> class Atomic>
void read_payload(ListNode<Atomic>& node, void* to, std::uint64_t count) noexcept {
    const auto* const words = reinterpret_cast<const Atomic<std::uint64_t>*>(node.payload());
    for (std::uint64_t done = 0; done < count; done += word_bytes) {
        const std::uint64_t word = words[done / word_bytes].load(std::memory_order_acquire);
        std::memcpy(static_cast<char*>(to) + done, &word, std::min(word_bytes, count - done));
    }
}

}  // namespace acp::list
