// SPDX-License-Identifier: BSD-3-Clause
// The packet numbers that came from one peer: a sliding bitmap of the last 2048, which serves both against replay
// and for the acknowledgement. look() before the datagram is opened, record() after it proved authentic. Packets
// that nobody wants acknowledged (those that carry acknowledgements alone) are recorded but do not count as
// `largest` of an acknowledgement, so that its delay measures what it should. Knows no wire format but AckFrame's
// meaning; decides not when to acknowledge. One thread.
// Tests: tests/unit/datagram/ack_ranges_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "datagram/ack_frame.hpp"
#include "datagram/time.hpp"

namespace acp::datagram {

class AckRanges {
public:
    static constexpr std::uint64_t span_blocks = 32;
    static constexpr std::uint64_t span = span_blocks * block_packets;  // packet numbers remembered
    static constexpr std::size_t repeats = 8;  // acknowledgements that tell of each packet
    // So often, and for so long, all who send here are asked together to let the path run empty, so that each of
    // them finds its true round trip.
    static constexpr Time drain_every_ns = 250'000'000;
    static constexpr Time drain_asked_ns = 2'000'000;

    enum class Seen : std::uint8_t { fresh, duplicate, too_old };

    [[nodiscard]] Seen look(PacketNumber number) const noexcept;

    // A packet that was looked up as fresh and proved authentic.
    //   wants_ack  it carries content or a ping, so the peer waits to hear of it
    void record(Time now, PacketNumber number, bool wants_ack) noexcept;

    // Takes all numbers up to `largest` as seen, and will tell of none of them: what is kept of a peer long idle.
    // To be called before anything is recorded.
    void forget_up_to(PacketNumber largest) noexcept;

    // Whether anything came that wants an acknowledgement; report() may be called from then on.
    [[nodiscard]] bool has_any() const noexcept { return has_wanting_; }

    // Whether since the last report a packet came out of order, behind a hole or into one: then acknowledge at once.
    [[nodiscard]] bool is_disordered() const noexcept { return is_disordered_; }

    // Fills largest, run, delay, words and is_drain. Each packet is told of in at least `repeats` reports, as far as it lies
    // within 1024 of the run's start; older ones are left out to keep the frame short.
    void report(Time now, AckFrame& ack) noexcept;

private:
    [[nodiscard]] std::uint64_t word(std::uint64_t block) const noexcept {
        return words_[block % span_blocks];
    }

    // The oldest block of which words_ knows.
    [[nodiscard]] std::uint64_t lowest_block() const noexcept {
        return top_block_ < span_blocks ? 0 : top_block_ - span_blocks + 1;
    }

    // How many packets right below this one, which came, came too; not counted further than the block of `known`.
    [[nodiscard]] std::uint32_t run_below(PacketNumber number, PacketNumber known) const noexcept;

    std::array<std::uint64_t, span_blocks> words_{};
    std::array<PacketNumber, repeats> reported_{};  // `largest` of the last reports, as a ring
    std::uint64_t top_block_ = 0;                   // words_ holds top_block_ and the 31 before
    PacketNumber next_ = 0;                         // one more than the largest that came
    PacketNumber forgotten_ = 0;                    // numbers below are told of in no report
    PacketNumber largest_wanting_ = 0;
    Time largest_came_ = 0;
    std::uint8_t next_reported_ = 0;
    bool has_wanting_ = false;
    bool is_disordered_ = false;
};

}  // namespace acp::datagram
