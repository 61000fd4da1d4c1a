// SPDX-License-Identifier: BSD-3-Clause
// An acknowledgement as a value, and its form on the wire (docs/spec/wire-loss.md): which packet
// numbers were received, how long the receiver held the largest one back, which content is
// complete, and how much more may be sent. The frame comes from an authenticated peer that may
// still be broken, so decoding checks every bound. It knows neither receiver nor sender. Any
// thread.
// Tests: tests/unit/datagram/ack_frame_test.cpp.
//
//    0 u8  type            chosen by the caller; not interpreted here
//    1 u8  words n         0 .. 16; bit 7: asks all senders to drain the path now (is_drain)
//    2 u16 delay           units of 256 ns, saturating
//    4 u32 run             largest - run .. largest were all received
//    8 u64 largest         packet number
//   16 u32 cumulative      all content before this serial number was received
//   20 u16 credit          content with serial number < cumulative + credit may be sent
//   22 u16 marked          datagrams received with the ECN mark "congestion experienced", modulo
//                          2^16
//   24 n x u64             word j: bit i = packet number 64 * (block - j) + i was received; block =
//                          (largest - run) / 64
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datagram/time.hpp"

namespace acp::datagram {

// Packet numbers per word of a bitmap, on the wire and in memory.
inline constexpr std::uint64_t block_packets = 64;

[[nodiscard]] constexpr std::uint64_t block_of(PacketNumber number) noexcept {
    return number / block_packets;
}

struct AckFrame {
    static constexpr std::size_t words_max = 16;  // covers 1024 packet numbers
    static constexpr std::size_t head_bytes = 24;
    static constexpr std::size_t bytes_max = head_bytes + 8 * words_max;
    static constexpr Time delay_unit_ns = 256;

    PacketNumber largest = 0;
    std::uint32_t run = 0;     // packets directly below `largest`, all received; <= largest
    Time delay_ns = 0;         // how long the receiver held `largest` before this frame
    Dsn cumulative = 0;        // all content before this serial number was received
    std::uint16_t credit = 0;  // content from `cumulative` on that may be sent
    std::uint16_t marked = 0;  // ECN-marked datagrams received, modulo 2^16
    // Words that are filled; the rest of `words` is not sent.
    std::uint8_t count = 0;
    bool is_drain = false;  // asks the sender to drain the path (CongestionDelay)
    std::array<std::uint64_t, words_max> words{};

    [[nodiscard]] PacketNumber run_start() const noexcept { return largest - run; }

    // Whether the frame reports this packet as received.
    [[nodiscard]] bool contains(PacketNumber number) const noexcept;

    // The packets of a block (numbers 64 * block ..) that the frame reports as received, one bit
    // each; 0 for blocks outside the frame.
    [[nodiscard]] std::uint64_t mask_of(std::uint64_t block) const noexcept;

    // The lowest block that the frame describes.
    [[nodiscard]] std::uint64_t lowest_block() const noexcept;

    [[nodiscard]] std::size_t encoded_bytes() const noexcept {
        return head_bytes + std::size_t{8} * count;
    }
};

// Writes the frame with this type byte. Returns the bytes written, or 0 if the frame does not fit;
// then nothing is written.
std::size_t encode_ack(const AckFrame& ack, std::uint8_t type, std::span<std::byte> out) noexcept;

// Reads the frame at the front of `in`. Returns the bytes read, or 0 if the frame is cut short or
// out of bounds; then `ack` is unchanged. The caller must still check that `largest` was ever sent
// (SentDatagrams::next()).
[[nodiscard]] std::size_t decode_ack(std::span<const std::byte> in, AckFrame& ack) noexcept;

}  // namespace acp::datagram
