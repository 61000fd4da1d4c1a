// SPDX-License-Identifier: BSD-3-Clause
// Encodes and decodes acknowledgements field by field, little endian. Any thread.
#include "datagram/ack_frame.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "datagram/wire.hpp"

namespace acp::datagram {

namespace {

static_assert(std::endian::native == std::endian::little, "the wire's order is the machine's");

constexpr std::uint8_t drain_bit = 0x80;

// Returns a word in which the bits first .. last are set.
constexpr std::uint64_t bits(std::uint64_t first, std::uint64_t last) noexcept {
    // Both shifts are below 64, because first <= last < 64.
    return (~std::uint64_t{0} << first) & (~std::uint64_t{0} >> (block_packets - 1 - last));
}

}  // namespace

std::uint64_t AckFrame::mask_of(std::uint64_t block) const noexcept {
    const std::uint64_t run_block = block_of(run_start());
    const std::uint64_t top_block = block_of(largest);
    if (block > top_block) return 0;
    std::uint64_t mask = 0;
    if (block >= run_block) {
        mask = bits(block == run_block ? run_start() % block_packets : 0,
                    block == top_block ? largest % block_packets : block_packets - 1);
    }
    if (block <= run_block && run_block - block < count) {
        // The bits of a word above the run's start carry no information: the run covers those
        // packets.
        const std::uint64_t told =
            block == run_block ? (std::uint64_t{1} << (run_start() % block_packets)) - 1 : ~0ULL;
        mask |= words[run_block - block] & told;
    }
    return mask;
}

bool AckFrame::contains(PacketNumber number) const noexcept {
    return (mask_of(block_of(number)) >> (number % block_packets) & 1) != 0;
}

std::uint64_t AckFrame::lowest_block() const noexcept {
    const std::uint64_t run_block = block_of(run_start());
    return count == 0 ? run_block : run_block + 1 - count;
}

// WIRE-40
std::size_t encode_ack(const AckFrame& ack, std::uint8_t type, std::span<std::byte> out) noexcept {
    const std::size_t bytes = ack.encoded_bytes();
    if (out.size() < bytes) return 0;
    const Time delay = std::min<Time>(ack.delay_ns / AckFrame::delay_unit_ns, 0xFFFF);
    std::byte* at = out.data();
    store(at, type);
    store(at + 1, static_cast<std::uint8_t>(ack.count | (ack.is_drain ? drain_bit : 0)));
    store(at + 2, static_cast<std::uint16_t>(delay));
    store(at + 4, ack.run);
    store(at + 8, ack.largest);
    store(at + 16, ack.cumulative);
    store(at + 20, ack.credit);
    store(at + 22, ack.marked);
    std::memcpy(at + AckFrame::head_bytes, ack.words.data(), std::size_t{8} * ack.count);
    return bytes;
}

// WIRE-41
std::size_t decode_ack(std::span<const std::byte> in, AckFrame& ack) noexcept {
    if (in.size() < AckFrame::head_bytes) return 0;
    AckFrame read;
    const std::byte* at = in.data();
    const auto counted = load<std::uint8_t>(at + 1);
    read.count = static_cast<std::uint8_t>(counted % drain_bit);
    read.is_drain = (counted & drain_bit) != 0;
    read.delay_ns = load<std::uint16_t>(at + 2) * AckFrame::delay_unit_ns;
    read.run = load<std::uint32_t>(at + 4);
    read.largest = load<PacketNumber>(at + 8);
    read.cumulative = load<Dsn>(at + 16);
    read.credit = load<std::uint16_t>(at + 20);
    read.marked = load<std::uint16_t>(at + 22);
    if (read.count > AckFrame::words_max || in.size() < read.encoded_bytes()) return 0;
    // The run must not reach below packet 0, and no word may describe a block below 0. Packet
    // number 2^64 - 1 is never used: one more than the largest must not wrap.
    if (read.run > read.largest || read.largest == ~PacketNumber{0}) return 0;
    if (read.count > block_of(read.run_start()) + 1) return 0;
    std::memcpy(read.words.data(), at + AckFrame::head_bytes, std::size_t{8} * read.count);
    ack = read;
    return read.encoded_bytes();
}

}  // namespace acp::datagram
