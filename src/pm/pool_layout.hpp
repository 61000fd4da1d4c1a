// SPDX-License-Identifier: BSD-3-Clause
// Where things lie in the block of a context of PM messages: one of each process, in its heap, as long whatever the number of processes.
// Knows no memory. Any thread.
//
//     desk           who calls, who wants a lease, who writes (sync/lease_desk.hpp)
//     leases         of the rings, a line each
//     rings          of messages to this process (message/ring.hpp)
//     credit cells   what receivers on other nodes tell this process of their rings: one for each of its outlets
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

// How many senders a process hears at a time, and how many destinations it sends to at a time: more take turns. A bit each in a word.
inline constexpr std::uint32_t leases = 64;
inline constexpr std::uint32_t outlets = 64;

// The longest message. The papers' tables end there.
inline constexpr std::uint64_t message_bytes_max = 8192;

using PoolRingShape = message::BasicRingShape<32768>;
inline constexpr PoolRingShape ring_shape{32768};
static_assert(ring_shape.payload_bytes_max() >= message_bytes_max);

// What a record of such a ring is; the tag of its header.
enum class PoolRecord : std::uint8_t {
    message,
    hello  // the first record under a lease: a Hello
};

[[nodiscard]] constexpr bool is_message(std::uint8_t tag) noexcept {
    return static_cast<PoolRecord>(tag) == PoolRecord::message;
}

// A process that is not known. In the state of a lease a holder is the process plus 1, and 0 nobody.
inline constexpr std::uint32_t nobody = ~std::uint32_t{0};

[[nodiscard]] constexpr std::uint32_t held_by(std::uint32_t process) noexcept {
    return process + 1;
}

// Who sends by this ring.
struct Hello {
    std::uint32_t process = 0;
    std::uint32_t reserved = 0;
    std::uint64_t cell =
        0;  // where the credits of the ring go, if the sender is on another node; else 0
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

// Of a ring, as long as its lease has this generation. No two generations of one ring share a key before all have been used.
[[nodiscard]] inline message::RingKey key_of(std::uint32_t index,
                                             std::uint32_t generation) noexcept {
    return message::RingKey(os::crc32c_of_word(index + 1, std::uint64_t{generation} << 32 | index));
}

// What a writer's note says of a ring. Never 0.
[[nodiscard]] constexpr std::uint64_t place_of(std::uint32_t process,
                                               std::uint32_t index) noexcept {
    return (std::uint64_t{process} + 1) << 8 | index;
}

}  // namespace acp::pm
