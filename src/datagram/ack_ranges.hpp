// SPDX-License-Identifier: BSD-3-Clause
// The packet numbers received from one peer: a sliding bitmap of the last 2048. It is both the
// anti-replay window (RFC 4303, 3.4.3) and the source of acknowledgements. The owner calls look()
// before it opens a datagram, and record() only after the tag proved it authentic. Packets that are
// not ack-eliciting (those that carry nothing but acknowledgements) are recorded, but are never
// `largest` of an acknowledgement, so that the reported delay belongs to a packet whose sender
// measures it. Knows no wire format; does not decide when to acknowledge. One thread.
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
    // Packet numbers in the window.
    static constexpr std::uint64_t span = span_blocks * block_packets;
    static constexpr std::size_t repeats = 8;  // acknowledgements that report each packet
    // Every drain_every_ns, for drain_asked_ns, each acknowledgement asks its sender to drain the
    // path. All senders are asked at the same time, so that the queue empties and each of them
    // measures the round trip without it (WIRE-65).
    static constexpr Time drain_every_ns = 250'000'000;
    static constexpr Time drain_asked_ns = 2'000'000;

    enum class Seen : std::uint8_t { fresh, duplicate, too_old };

    // Whether a packet number is new. Changes nothing, so it may be called for a datagram that is
    // not authenticated yet.
    //  too_old  the number lies below the window: it may be a replay, so the datagram must be
    //           dropped
    [[nodiscard]] Seen look(PacketNumber number) const noexcept;

    // Records a packet that look() called fresh and that proved authentic.
    //   wants_ack  the packet is ack-eliciting (RFC 9002): it carries content or a ping
    void record(Time now, PacketNumber number, bool wants_ack) noexcept;

    // Treats all numbers up to `largest` as seen, but reports none of them: this is the state of a
    // peer that was idle for long. Must be called before anything is recorded.
    void forget_up_to(PacketNumber largest) noexcept;

    // Whether an ack-eliciting packet was ever recorded; only then may report() be called.
    [[nodiscard]] bool has_any() const noexcept { return has_wanting_; }

    // Whether a packet arrived out of order since the last report: behind a hole or into one. Then
    // an acknowledgement is due at once.
    [[nodiscard]] bool is_disordered() const noexcept { return is_disordered_; }

    // Fills largest, run, delay, words and is_drain. Each packet is in at least `repeats` reports
    // while it lies within 1024 of the run's start, so that a few lost acknowledgements cost
    // nothing; older packets are left out to keep the frame short.
    void report(Time now, AckFrame& ack) noexcept;

private:
    [[nodiscard]] std::uint64_t word(std::uint64_t block) const noexcept {
        return words_[block % span_blocks];
    }

    // The oldest block that words_ still holds.
    [[nodiscard]] std::uint64_t lowest_block() const noexcept {
        return top_block_ < span_blocks ? 0 : top_block_ - span_blocks + 1;
    }

    // How many packets directly below `number` (which was received) were received without a gap.
    // Stops at the block of `known`.
    [[nodiscard]] std::uint32_t run_below(PacketNumber number, PacketNumber known) const noexcept;

    std::array<std::uint64_t, span_blocks> words_{};
    // ring: the lowest number that each of the last reports covers from
    std::array<PacketNumber, repeats> reported_{};
    std::uint64_t top_block_ = 0;       // words_ holds top_block_ and the 31 blocks before it
    PacketNumber next_ = 0;             // one more than the largest received
    PacketNumber forgotten_ = 0;        // lower numbers are in no report
    PacketNumber largest_wanting_ = 0;  // the largest ack-eliciting packet
    Time largest_came_ = 0;             // when largest_wanting_ arrived
    std::uint8_t next_reported_ = 0;
    bool has_wanting_ = false;  // largest_wanting_ is valid
    bool is_disordered_ = false;
};

}  // namespace acp::datagram
