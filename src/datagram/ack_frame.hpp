// SPDX-License-Identifier: BSD-3-Clause
// What an acknowledgement says, and its form on the wire (docs/spec/wire-loss.md): which packet numbers came, how
// long the largest waited, which content is complete and how much more may come. The frame's bytes come from a
// peer that is authenticated but may be wrong: decoding checks every bound. Knows neither who received nor who
// sent. Values; any thread.
// Tests: tests/unit/datagram/ack_frame_test.cpp.
//
//    0 u8  type            the caller's; not looked at here
//    1 u8  words n         0 .. 16; bit 7: all who send here are asked to let the path run empty now
//    2 u16 delay           units of 256 ns, saturating
//    4 u32 run             largest - run .. largest came, all of them
//    8 u64 largest         packet number
//   16 u32 cumulative      all content before this serial number came
//   20 u16 credit          content with serial number < cumulative + credit may be sent
//   22 u16 marked          datagrams that came marked "congestion experienced", modulo 2^16
//   24 n x u64             word j: bit i = packet number 64 * (block - j) + i came; block = (largest - run) / 64
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datagram/time.hpp"

namespace acp::datagram {

inline constexpr std::uint64_t block_packets = 64;  // packet numbers are kept and told by blocks

[[nodiscard]] constexpr std::uint64_t block_of(PacketNumber number) noexcept {
    return number / block_packets;
}

struct AckFrame {
    static constexpr std::size_t words_max = 16;  // 1024 packet numbers back
    static constexpr std::size_t head_bytes = 24;
    static constexpr std::size_t bytes_max = head_bytes + 8 * words_max;
    static constexpr Time delay_unit_ns = 256;

    PacketNumber largest = 0;
    std::uint32_t run = 0;  // <= largest
    Time delay_ns = 0;
    Dsn cumulative = 0;
    std::uint16_t credit = 0;
    std::uint16_t marked = 0;
    std::uint8_t count = 0;  // of words
    bool is_drain = false;   // asks the sender to let the path run empty (CongestionDelay)
    std::array<std::uint64_t, words_max> words{};

    [[nodiscard]] PacketNumber run_start() const noexcept { return largest - run; }

    // Whether it says that this packet came.
    [[nodiscard]] bool contains(PacketNumber number) const noexcept;

    // The packets of a block (numbers 64 * block ..) that it says came; 0 for blocks it does not speak of.
    [[nodiscard]] std::uint64_t mask_of(std::uint64_t block) const noexcept;

    // The lowest block it says anything of.
    [[nodiscard]] std::uint64_t lowest_block() const noexcept;

    [[nodiscard]] std::size_t encoded_bytes() const noexcept {
        return head_bytes + std::size_t{8} * count;
    }
};

// Writes the frame with this type byte. Returns its bytes; 0: it does not fit, nothing is written.
std::size_t encode_ack(const AckFrame& ack, std::uint8_t type, std::span<std::byte> out) noexcept;

// Reads the frame at the front of `in`. Returns its bytes; 0: cut short or out of bounds, `ack` is unchanged.
// Whether `largest` was ever sent is the caller's to check (SentDatagrams::next()).
[[nodiscard]] std::size_t decode_ack(std::span<const std::byte> in, AckFrame& ack) noexcept;

}  // namespace acp::datagram
