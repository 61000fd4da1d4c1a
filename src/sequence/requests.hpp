// SPDX-License-Identifier: BSD-3-Clause
// What calls on a sequence ask for, and what they return. Values; any thread.
// Tests: tests/unit/sequence.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "table/words.hpp"

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

// The most bytes that a sequence has.
inline constexpr std::uint64_t bytes_most = table::heap_bytes_max / 2;

[[nodiscard]] constexpr std::uint64_t rounded_capacity(std::uint64_t bytes) noexcept {
    constexpr std::uint64_t least = 16;
    return std::max(least, (bytes + 15) & ~std::uint64_t{15});
}

// The capacity that a content of `bytes` bytes needs after a splice.
[[nodiscard]] constexpr std::uint64_t capacity_needed(std::uint64_t bytes,
                                                      const Splice& splice) noexcept {
    return rounded_capacity(std::max(bytes, splice.capacity_least));
}

// The capacity of its new body: with room to grow if the content grows, else as small as possible.
//   capacity  of the body before
[[nodiscard]] constexpr std::uint64_t capacity_wanted(std::uint64_t capacity,
                                                      std::uint64_t bytes,
                                                      const Splice& splice) noexcept {
    const std::uint64_t needed = capacity_needed(bytes, splice);
    if (splice.may_shrink && needed < capacity / 4) return needed;
    if (bytes <= capacity) return std::max(needed, capacity);
    return std::max(needed, std::min(2 * capacity, rounded_capacity(bytes_most)));
}

// A body that a participant has made in pieces, in a block of its own.
struct NewBody {
    std::uint64_t block = 0;     // its number
    std::uint64_t bytes = 0;     // length of the content, which begins behind Body::head_bytes
    std::uint64_t capacity = 0;  // >= bytes
    std::uint64_t version = 0;   // version of the replaced content
};

// A piece of a push of many bytes (PushInPieces).
struct PushPiece {
    ContentEnd end = ContentEnd::back;
    std::uint64_t push = 0;     // distinguishes the push from others at the same time; < 2^63
    std::uint64_t version = 0;  // version of the content that the push extends
    std::uint64_t total = 0;    // bytes of the push
    std::uint64_t at = 0;       // the piece begins there in the push
    const char* source = nullptr;
    std::uint64_t bytes = 0;  // >= 1, at + bytes <= total
    // a piece at 0 ends another push that has begun
    bool replaces_another = false;
};

// No content has this version.
inline constexpr std::uint64_t any_version = ~std::uint64_t{0};

// A removal of bytes at an end.
struct Removal {
    ContentEnd end = ContentEnd::back;
    // gets the bytes in the order of the content; nullptr: they are dropped
    char* target = nullptr;
    std::uint64_t bytes = 0;
    // Size of `target`. If it is too small for the bytes that would be removed, none is removed.
    std::uint64_t room_bytes = ~std::uint64_t{0};
    // SequenceEffect::changed if the content has another version
    std::uint64_t version = any_version;
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
    std::uint64_t version = 0;  // differs between two contents
    // in the order of the content; unused ones are empty
    std::array<ContentPiece, 2> pieces{};
};

}  // namespace acp::sequence
