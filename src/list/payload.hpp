// SPDX-License-Identifier: BSD-3-Clause
// Copies the bytes of an element word by word with atomics: a thread may read a node that is being
// freed and reused. It then reads garbage, detects that by the changed mark, and has caused no data
// race.
// Tests: tests/unit/list/list_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "list/layout.hpp"

namespace acp::list {

inline constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

// The bytes of one caller.
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

// acquire: the caller's later read of the mark is not earlier than these reads
template <template <class> class Atomic>
void read_payload(ListNode<Atomic>& node, void* to, std::uint64_t count) noexcept {
    const auto* const words = reinterpret_cast<const Atomic<std::uint64_t>*>(node.payload());
    for (std::uint64_t done = 0; done < count; done += word_bytes) {
        const std::uint64_t word = words[done / word_bytes].load(std::memory_order_acquire);
        std::memcpy(static_cast<char*>(to) + done, &word, std::min(word_bytes, count - done));
    }
}

}  // namespace acp::list
