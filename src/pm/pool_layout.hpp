// SPDX-License-Identifier: BSD-3-Clause
// The layout of the block of a context of PM messages. Each process has one block in its heap, of
// the same length for any number of processes. Knows no memory. Any thread.
//
//     desk           calls of senders, a wanted lease, notes of writers (sync/lease_desk.hpp)
//     leases         of the rings, a line each
//     rings          of messages to this process (message/ring.hpp)
//     credit cells   one for each outlet: credits and requests from receivers on other nodes
//
// Tests: tests/unit/pm/pool_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "message/ring_layout.hpp"
#include "message/ring_words.hpp"
#include "os/crc32c.hpp"
#include "sync/lease_desk.hpp"

namespace acp::pm {

// How many senders a process receives from, and how many destinations it sends to, at a time. More
// than that take turns. One bit each in a word.
inline constexpr std::uint32_t leases = 64;
inline constexpr std::uint32_t outlets = 64;

// The longest message; the papers' tables end at this length.
inline constexpr std::uint64_t message_bytes_max = 8192;

using PoolRingShape = message::BasicRingShape<32768>;
inline constexpr PoolRingShape ring_shape{32768};
static_assert(ring_shape.payload_bytes_max() >= message_bytes_max);

// The kind of a record in such a ring; the tag of its header.
enum class PoolRecord : std::uint8_t {
    message,
    hello  // the first record under a lease: a Hello
};

[[nodiscard]] constexpr bool is_message(std::uint8_t tag) noexcept {
    return static_cast<PoolRecord>(tag) == PoolRecord::message;
}

// The constant for no process. The state of a lease stores the process plus 1, and 0 for no holder.
inline constexpr std::uint32_t nobody = ~std::uint32_t{0};

[[nodiscard]] constexpr std::uint32_t held_by(std::uint32_t process) noexcept {
    return process + 1;
}

// Names the sender of a ring.
struct Hello {
    std::uint32_t process = 0;
    std::uint32_t reserved = 0;
    // The address to which credits of the ring are sent, if the sender is on another node; else 0.
    std::uint64_t cell = 0;
};

// Offsets from the start of the block.

inline constexpr std::uint64_t leases_begin = sizeof(sync::LeaseDesk<>);
inline constexpr std::uint64_t rings_begin = leases_begin + leases * message::line_bytes;
inline constexpr std::uint64_t cells_begin = rings_begin + leases * ring_shape.bytes();
inline constexpr std::uint64_t credits_in_ring = ring_shape.credit_offset(0);
inline constexpr std::uint64_t cell_bytes = ring_shape.bytes() - credits_in_ring;
inline constexpr std::uint64_t pool_bytes = cells_begin + outlets * cell_bytes;

[[nodiscard]] constexpr std::uint64_t lease_offset(std::uint32_t index) noexcept {
    return leases_begin + index * message::line_bytes;
}

[[nodiscard]] constexpr std::uint64_t ring_offset(std::uint32_t index) noexcept {
    return rings_begin + index * ring_shape.bytes();
}

[[nodiscard]] constexpr std::uint64_t cell_offset(std::uint32_t outlet) noexcept {
    return cells_begin + outlet * cell_bytes;
}

// The key of a ring under this generation of its lease. A key is reused only after all generations.
[[nodiscard]] inline message::RingKey key_of(std::uint32_t index,
                                             std::uint32_t generation) noexcept {
    return message::RingKey(os::crc32c_of_word(index + 1, std::uint64_t{generation} << 32 | index));
}

// The content of a writer's note while it writes into this ring. Never 0.
[[nodiscard]] constexpr std::uint64_t place_of(std::uint32_t process,
                                               std::uint32_t index) noexcept {
    return (std::uint64_t{process} + 1) << 8 | index;
}

}  // namespace acp::pm
