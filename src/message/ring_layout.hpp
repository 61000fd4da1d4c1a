// SPDX-License-Identifier: BSD-3-Clause
// The layout of a ring's memory, and of a record in it. Positions are lines of 64 bytes, counted
// since the ring was opened, and never decrease; offsets are bytes from the start of the ring's
// memory. Knows no memory. Any thread.
//
//     0 .. D             records                       written by the sender, and each line's first
//                                                      word by the receiver too
//     D .. D + D/8       journal: a word per line      written by the sender
//     + 0, + 64          two credits                   written by the receiver
//     + 128              request for a header          written by the receiver; the sender stores 0
//
// The first two parts may be on another node than the last two: the sender writes the former, the
// receiver the latter, each into the other's memory.
// Tests: tests/unit/message/ring_test.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"

namespace acp::message {

inline constexpr std::uint64_t line_bytes = 64;
inline constexpr std::uint64_t header_bytes = 8;
inline constexpr std::uint64_t ring_bytes_min = 1024;
inline constexpr std::uint64_t ring_bytes_max = std::uint64_t{1} << 25;

// The lines that n bytes need.
[[nodiscard]] constexpr std::uint64_t lines_for(std::uint64_t bytes) noexcept {
    return (bytes + line_bytes - 1) / line_bytes;
}

// Whether a record with this payload takes one line, unless it wraps.
[[nodiscard]] constexpr bool is_one_line(std::uint64_t bytes) noexcept {
    return bytes <= line_bytes - header_bytes;
}

// The shape of a ring with D bytes of records.
//   known_bytes  D, if it is a compile-time constant, which saves instructions; else 0
template <std::uint64_t known_bytes = 0>
class BasicRingShape {
public:
    //   record_bytes  D: a power of two, ring_bytes_min .. ring_bytes_max
    explicit constexpr BasicRingShape(std::uint64_t record_bytes) noexcept
        : lines_(record_bytes / line_bytes) {
        ACP_ASSERT(std::has_single_bit(record_bytes) && record_bytes >= ring_bytes_min &&
                   record_bytes <= ring_bytes_max);
        ACP_ASSERT(known_bytes == 0 || known_bytes == record_bytes);
    }

    [[nodiscard]] constexpr std::uint64_t lines() const noexcept {
        return known_bytes != 0 ? known_bytes / line_bytes : lines_;
    }

    [[nodiscard]] constexpr std::uint64_t record_bytes() const noexcept {
        return lines() * line_bytes;
    }

    // All of the ring's memory: 4.7 KiB for D = 4 KiB, 18.2 KiB for 16 KiB.
    [[nodiscard]] constexpr std::uint64_t bytes() const noexcept {
        return request_offset() + line_bytes;
    }

    // The longest payload: 3/8 of D, less a header. A record takes at most 3/4 of the ring even if
    // it wraps, and the receiver withholds credit for less than 1/4 (RingReceiver::release): so
    // there is room for one more record whenever all are released.
    [[nodiscard]] constexpr std::uint64_t payload_bytes_max() const noexcept {
        return record_bytes() / 8 * 3 - header_bytes;
    }

    // Lines that the receiver releases before it grants a credit.
    [[nodiscard]] constexpr std::uint64_t credit_lines() const noexcept { return lines() / 4; }

    [[nodiscard]] constexpr std::uint64_t index_of(std::uint64_t line) const noexcept {
        return line & (lines() - 1);
    }

    // The header's place, for a record that starts at this line.
    [[nodiscard]] constexpr std::uint64_t header_offset(std::uint64_t line) const noexcept {
        return index_of(line) * line_bytes;
    }

    // The payload's place: behind the header, or at the start of the ring if it wraps.
    [[nodiscard]] constexpr std::uint64_t payload_offset(std::uint64_t line,
                                                         bool wraps) const noexcept {
        return wraps ? 0 : header_offset(line) + header_bytes;
    }

    // Whether a payload behind the header would go beyond the ring's end.
    [[nodiscard]] constexpr bool must_wrap(std::uint64_t line, std::uint64_t bytes) const noexcept {
        return header_offset(line) + header_bytes + bytes > record_bytes();
    }

    // The lines of a record, including those that it skips at the ring's end if it wraps.
    [[nodiscard]] constexpr std::uint64_t lines_of(std::uint64_t line,
                                                   std::uint64_t bytes,
                                                   bool wraps) const noexcept {
        return wraps ? lines() - index_of(line) + lines_for(bytes)
                     : lines_for(header_bytes + bytes);
    }

    [[nodiscard]] constexpr std::uint64_t journal_offset(std::uint64_t line) const noexcept {
        return record_bytes() + index_of(line) * sizeof(std::uint64_t);
    }

    //   which  0, 1
    [[nodiscard]] constexpr std::uint64_t credit_offset(std::uint64_t which) const noexcept {
        return record_bytes() + lines() * sizeof(std::uint64_t) + which * line_bytes;
    }

    [[nodiscard]] constexpr std::uint64_t request_offset() const noexcept {
        return credit_offset(2);
    }

private:
    std::uint64_t lines_;
};

using RingShape = BasicRingShape<>;

static_assert(RingShape(4096).bytes() == 4800 && RingShape(16384).bytes() == 18624);
static_assert(RingShape(ring_bytes_max).payload_bytes_max() <= (std::uint64_t{1} << 24) - 1);

}  // namespace acp::message
