// SPDX-License-Identifier: BSD-3-Clause
// Looks packet numbers up in the sliding bitmap, records them, and builds acknowledgements from it.
// One thread.
#include "datagram/ack_ranges.hpp"

#include <algorithm>
#include <bit>

namespace acp::datagram {

AckRanges::Seen AckRanges::look(PacketNumber number) const noexcept {
    const std::uint64_t block = block_of(number);
    if (block > top_block_) return Seen::fresh;
    if (block < lowest_block()) return Seen::too_old;
    return (word(block) >> (number % block_packets) & 1) != 0 ? Seen::duplicate : Seen::fresh;
}

void AckRanges::record(Time now, PacketNumber number, bool wants_ack) noexcept {
    const std::uint64_t block = block_of(number);
    if (block > top_block_) {
        // The ring's entries for the blocks in between still hold bits of blocks `span_blocks`
        // lower.
        const std::uint64_t fresh = std::min(block - top_block_, span_blocks);
        for (std::uint64_t i = 0; i < fresh; ++i) words_[(block - i) % span_blocks] = 0;
        top_block_ = block;
    }
    words_[block % span_blocks] |= std::uint64_t{1} << (number % block_packets);
    is_disordered_ |= number != next_ && has_wanting_;
    next_ = std::max(next_, number + 1);
    if (wants_ack && (!has_wanting_ || number > largest_wanting_)) {
        largest_wanting_ = number;
        largest_came_ = now;
        has_wanting_ = true;
    }
    // A packet that arrives late, below an earlier report's largest, was in none of those reports.
    // Lowering their marks makes the next `repeats` reports reach back to it.
    for (PacketNumber& reported : reported_) reported = std::min(reported, number);
}

void AckRanges::forget_up_to(PacketNumber largest) noexcept {
    words_.fill(~0ULL);
    top_block_ = block_of(largest);
    // In the top block only the bits up to `largest` count as seen; higher numbers are still to
    // come.
    words_[top_block_ % span_blocks] = ~0ULL >> (block_packets - 1 - largest % block_packets);
    next_ = forgotten_ = largest + 1;
    reported_.fill(largest);
}

std::uint32_t AckRanges::run_below(PacketNumber number, PacketNumber known) const noexcept {
    std::uint64_t run = 0;
    const std::uint64_t lowest = std::max(lowest_block(), block_of(known));
    for (std::uint64_t block = block_of(number); block >= lowest; --block) {
        const std::uint64_t bit = block == block_of(number) ? number % block_packets : 63;
        const auto ones =
            static_cast<std::uint64_t>(std::countl_one(word(block) << (block_packets - 1 - bit)));
        run += ones;
        if (ones <= bit || block == 0) break;
    }
    return static_cast<std::uint32_t>(run == 0 ? 0 : run - 1);
}

// WIRE-42
void AckRanges::report(Time now, AckFrame& ack) noexcept {
    ack.largest = largest_wanting_;
    ack.delay_ns = now - std::min(now, largest_came_);
    // Everything below `known` was in at least `repeats` reports already.
    const PacketNumber known = *std::min_element(reported_.begin(), reported_.end());
    // Packets below forgotten_ may never have been received, so the run must not cover them: the
    // peer would drop their content.
    ack.run = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(run_below(largest_wanting_, known), largest_wanting_ - forgotten_));
    ack.is_drain = now % drain_every_ns < drain_asked_ns;  // WIRE-65
    ack.count = 0;
    const PacketNumber start = ack.run_start();
    const std::uint64_t first = block_of(start);
    if (start > known) {
        // The frame has room for words_max words, counted from the run's block downwards.
        const std::uint64_t back =
            first < AckFrame::words_max ? 0 : first + 1 - AckFrame::words_max;
        const std::uint64_t last =
            std::max({back, lowest_block(), block_of(known), block_of(forgotten_)});
        for (std::uint64_t block = first + 1; block-- > last;) {
            const std::uint64_t below =
                block == first ? (std::uint64_t{1} << (start % block_packets)) - 1 : ~0ULL;
            const std::uint64_t told =
                block == block_of(forgotten_) ? ~0ULL << (forgotten_ % block_packets) : ~0ULL;
            const std::uint64_t came = word(block) & below & told;
            ack.words[first - block] = came;
            if (came != 0) ack.count = static_cast<std::uint8_t>(first - block + 1);
        }
    }
    reported_[next_reported_] = largest_wanting_;
    next_reported_ = static_cast<std::uint8_t>((next_reported_ + 1) % repeats);
    is_disordered_ = false;
}

}  // namespace acp::datagram
