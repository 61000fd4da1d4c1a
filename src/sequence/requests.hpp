// SPDX-License-Identifier: BSD-3-Clause
// What calls on a sequence ask for, and what they return. Values; any thread.
// Tests: tests/unit/sequence.
#pragma once

#include <array>
#include <cstdint>

namespace acp::sequence {

enum class ContentEnd : std::uint8_t { back, front };

// A change anywhere: replaces `removed` bytes from index `at` by `added` new ones. In place if it
// only removes bytes at the end.
struct Splice {
    std::uint64_t at = 0;       // beyond the content: its end
    std::uint64_t removed = 0;  // beyond the content: up to its end
    const char* source = nullptr;
    std::uint64_t added = 0;
    // least capacity of the new body
    std::uint64_t capacity_least = 0;
    bool must_fit = false;    // SequenceEffect::outside if the range is not in the content
    bool may_shrink = false;  // the new body may be smaller than the old one
};

// A removal of bytes at an end.
struct Removal {
    ContentEnd end = ContentEnd::back;
    // gets the bytes in the order of the content; nullptr: they are dropped
    char* target = nullptr;
    std::uint64_t bytes = 0;
    // Size of `target`. If it is too small for the bytes that would be removed, none is removed.
    std::uint64_t room_bytes = ~std::uint64_t{0};
};

// The number of bytes that a call has copied or removed, and the length of the content at that
// moment.
struct Portion {
    std::uint64_t bytes = 0;
    std::uint64_t there = 0;
};

// A piece of the content.   place  offset in the heap
struct ContentPiece {
    std::uint64_t place = 0;
    std::uint64_t bytes = 0;
};

struct SequenceLayout {
    std::uint64_t bytes = 0;  // length of the content
    std::uint64_t capacity = 0;
    // in the order of the content; unused ones are empty
    std::array<ContentPiece, 2> pieces{};
};

}  // namespace acp::sequence
