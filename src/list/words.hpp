// SPDX-License-Identifier: BSD-3-Clause
// The 64-bit words of a list: marks of nodes and heads, links, counts and turns. No word that an
// operation of a list expects is zero: so a page that was given back to the kernel, and reads as
// zero, is never changed by a late helper.
// Tests: tests/unit/list/list_test.cpp.
#pragma once

#include <cstdint>

#include "table/words.hpp"

namespace acp::list {

using table::BlockNumber;
using table::number_bits;
using table::number_mask;
using table::number_of;
using table::offset_of;

// A link names the next or the previous node, and holds low bits of the number of the operation
// that wrote it: so the late compare-and-swap of a helper fails.
namespace link {
inline constexpr std::uint32_t sequence_bits = 27;
inline constexpr std::uint64_t sequence_mask = (std::uint64_t{1} << sequence_bits) - 1;
inline constexpr std::uint64_t is_retired = std::uint64_t{1} << 63;

[[nodiscard]] constexpr std::uint64_t to(BlockNumber node, std::uint64_t sequence) noexcept {
    return node | (sequence & sequence_mask) << number_bits;
}

// In a retired node: the block that was retired before it. No operation expects such a word.
[[nodiscard]] constexpr std::uint64_t after(BlockNumber retired) noexcept {
    return retired | is_retired;
}

[[nodiscard]] constexpr BlockNumber node_in(std::uint64_t word) noexcept {
    return word & number_mask;
}
}  // namespace link

// The number of elements of a list, plus 1, with operation bits like a link.
namespace count {
[[nodiscard]] constexpr std::uint64_t of(std::uint64_t elements, std::uint64_t sequence) noexcept {
    return link::to(elements + 1, sequence);
}

[[nodiscard]] constexpr std::uint64_t elements_in(std::uint64_t word) noexcept {
    return link::node_in(word) - 1;
}
}  // namespace count

inline constexpr std::uint32_t participant_bits = 16;

// The first word of a node. Its two low bits are the node's kind. The other bits of a linked node
// are unique among the elements of a heap, up to chance (37 bits of a number that starts at a
// different value in each list), so an iterator finds by them whether its element is still in the
// list.
namespace mark {
enum NodeKind : std::uint64_t {
    live = 1,  // linked in a list, or the head of one
    // made by a participant and in no list yet, or moving from one list to another
    tentative = 2,
    // taken out of its list by a participant, which alone frees it
    claimed = 3,
};

inline constexpr std::uint64_t kind_mask = 3;
// the bytes are in a separate block
inline constexpr std::uint64_t apart = 4;
inline constexpr std::uint32_t size_shift = 3;
inline constexpr std::uint32_t size_bits = 24;
inline constexpr std::uint32_t stamp_shift = size_shift + size_bits;
inline constexpr std::uint64_t size_max = (std::uint64_t{1} << size_bits) - 1;
inline constexpr std::uint64_t shape_mask = apart | size_max << size_shift;

[[nodiscard]] constexpr NodeKind kind_of(std::uint64_t word) noexcept {
    return static_cast<NodeKind>(word & kind_mask);
}

// The number of bytes in the node itself, and whether they are an ApartPayload.   bytes  <=
// size_max
[[nodiscard]] constexpr std::uint64_t shape(std::uint64_t bytes, bool is_apart) noexcept {
    return bytes << size_shift | (is_apart ? apart : 0);
}

[[nodiscard]] constexpr std::uint64_t bytes_in(std::uint64_t word) noexcept {
    return word >> size_shift & size_max;
}

[[nodiscard]] constexpr bool is_apart(std::uint64_t word) noexcept {
    return (word & apart) != 0;
}

// A mark with another kind and stamp, and the same shape.   stamp  number of an operation or a
// participant
[[nodiscard]] constexpr std::uint64_t of(NodeKind kind,
                                         std::uint64_t word,
                                         std::uint64_t stamp) noexcept {
    return (word & shape_mask) | kind | stamp << stamp_shift;
}

// Whether a live mark was given by an operation of a list whose numbers began with `first`, and are
// at `now`.
[[nodiscard]] constexpr bool is_between(std::uint64_t word,
                                        std::uint64_t first,
                                        std::uint64_t now) noexcept {
    constexpr std::uint64_t stamp_mask = ~std::uint64_t{0} >> stamp_shift;
    return (((word >> stamp_shift) - first) & stamp_mask) <= now - first;
}

// The stamp of a node that a participant has made or claimed.
[[nodiscard]] constexpr std::uint64_t stamp_of(std::uint32_t participant) noexcept {
    // makes a chance match with other words unlikely
    constexpr std::uint64_t owner_mark = 0x15a5f;
    return owner_mark << participant_bits | participant;
}

[[nodiscard]] constexpr bool is_made_by(std::uint64_t word, std::uint32_t participant) noexcept {
    return (word & ~shape_mask) == of(tentative, 0, stamp_of(participant));
}

[[nodiscard]] constexpr bool is_claimed_by(std::uint64_t word, std::uint32_t participant) noexcept {
    return (word & ~shape_mask) == of(claimed, 0, stamp_of(participant));
}

// The mark of a list's head.
[[nodiscard]] constexpr std::uint64_t of_list(BlockNumber list) noexcept {
    constexpr std::uint64_t list_mark = 0x11575e9dc0ffe1a4;
    return ((list << 20 ^ list_mark) & ~kind_mask) | live;
}
}  // namespace mark

// A list's turn word, which serializes its operations: idle, with a number that grows by 1 with
// each operation, or busy with the operation whose descriptor a participant has published.
namespace turn {
inline constexpr std::uint64_t busy = 1;
inline constexpr std::uint64_t participant_mask = (std::uint64_t{1} << participant_bits) - 1;
inline constexpr std::uint32_t number_shift = 1 + participant_bits;

[[nodiscard]] constexpr std::uint64_t idle(std::uint64_t sequence) noexcept {
    return sequence << 1;
}

[[nodiscard]] constexpr std::uint64_t of(std::uint32_t participant, std::uint64_t number) noexcept {
    return number << number_shift | std::uint64_t{participant} << 1 | busy;
}

[[nodiscard]] constexpr bool is_busy(std::uint64_t word) noexcept {
    return (word & busy) != 0;
}

[[nodiscard]] constexpr std::uint64_t sequence_in(std::uint64_t word) noexcept {
    return word >> 1;
}

// The idle word after an operation that began with this one.
[[nodiscard]] constexpr std::uint64_t next(std::uint64_t idle_word) noexcept {
    return idle_word + 2;
}

[[nodiscard]] constexpr std::uint32_t participant_in(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 1 & participant_mask);
}

[[nodiscard]] constexpr std::uint64_t number_in(std::uint64_t word) noexcept {
    return word >> number_shift;
}
}  // namespace turn

// The decision about an operation on two lists.
namespace verdict {
enum Decision : std::uint64_t { open = 0, goes_on = 1, is_off = 2 };

[[nodiscard]] constexpr std::uint64_t of(std::uint64_t number, Decision decision) noexcept {
    return number << 2 | decision;
}
}  // namespace verdict

}  // namespace acp::list
