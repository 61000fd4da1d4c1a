// SPDX-License-Identifier: BSD-3-Clause
// Which datagrams are lost (RFC 9002, section 6.1): those sent so many packets, or so long, before one that was
// acknowledged. Packets overtaken without being lost raise the number of packets, up to 64. Removes records from
// SentDatagrams and tells the caller of each; resends nothing, and knows no congestion. One thread.
// Tests: tests/unit/datagram/loss_detector_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "datagram/ack_frame.hpp"
#include "datagram/rtt_estimator.hpp"
#include "datagram/sent_datagrams.hpp"
#include "datagram/time.hpp"

namespace acp::datagram {

// What an acknowledgement, or the time, settled. Path probes count in neither sum.
struct SettledPackets {
    std::uint64_t acked_bytes = 0;
    std::uint32_t acked = 0;
    std::uint64_t lost_bytes = 0;
    std::uint32_t lost = 0;
    std::uint32_t lost_together =
        0;                       // of them, those that left in one burst with the one just before
    std::uint32_t spurious = 0;  // taken for lost earlier, and acknowledged now
    Time largest_sent =
        never;  // when the largest was sent, if only now acknowledged: an RTT sample
    Time newest_lost_sent = 0;     // the latest sending time among the lost
    PacketNumber latest_lost = 0;  // the last that was added
};

class LossDetector {
public:
    static constexpr std::uint32_t packet_threshold_min = 3;
    static constexpr std::uint32_t packet_threshold_max = 64;
    static constexpr Time time_floor_ns = 200'000;  // below it, a late thread is taken for a loss
    static constexpr std::size_t remembered_max = 32;

    // Takes what the acknowledgement names. acked(number, const SentDatagram&) for each. To be followed by detect().
    // The caller has checked that ack.largest < sent.next().
    template <class Acked>
    SettledPackets on_ack(SentDatagrams& sent, const AckFrame& ack, Acked&& acked) {
        SettledPackets settled;
        settled.spurious = recognise(ack);
        sent.take_acked(ack, [&](PacketNumber number, const SentDatagram& record) {
            if (number == ack.largest) settled.largest_sent = record.sent;
            if (!record.is_path_probe) {
                ++settled.acked;
                settled.acked_bytes += record.bytes;
            }
            largest_acked_ = std::max(largest_acked_, number + 1);
            acked(number, record);
        });
        return settled;
    }

    // Takes what is lost as things stand; lost(number, const SentDatagram&) for each, adding to `settled`. Sets
    // deadline() to when the oldest that remains would be.
    template <class Lost>
    void detect(SentDatagrams& sent,
                Time now,
                const RttEstimator& rtt,
                SettledPackets& settled,
                Lost&& lost) {
        const Time delay = time_threshold(rtt);
        const SentDatagram* oldest =
            sent.take_lost([&](PacketNumber number, const SentDatagram& record) {
                if (!is_lost(number, record, now, delay)) return false;
                remember(number);
                settle(number, record, settled);
                lost(number, record);
                return true;
            });
        const bool is_overtaken = oldest != nullptr && sent.oldest() < largest_acked_;
        deadline_ = is_overtaken ? oldest->sent + delay : never;
    }

    // Gives up all that is in flight, as after several probes without any answer.
    template <class Lost>
    void lose_all(SentDatagrams& sent, SettledPackets& settled, Lost&& lost) {
        sent.take_lost([&](PacketNumber number, const SentDatagram& record) {
            settle(number, record, settled);
            lost(number, record);
            return true;
        });
        deadline_ = never;
    }

    // When detect() should be called although nothing was acknowledged; never: no need to.
    [[nodiscard]] Time deadline() const noexcept { return deadline_; }

    [[nodiscard]] std::uint32_t packet_threshold() const noexcept { return packet_threshold_; }

    [[nodiscard]] static Time time_threshold(const RttEstimator& rtt) noexcept;

private:
    [[nodiscard]] bool is_lost(PacketNumber number,
                               const SentDatagram& record,
                               Time now,
                               Time delay) const noexcept {
        if (number >= largest_acked_) return false;
        return number + packet_threshold_ < largest_acked_ || record.sent + delay <= now;
    }

    static void settle(PacketNumber number,
                       const SentDatagram& record,
                       SettledPackets& settled) noexcept;
    void remember(PacketNumber number) noexcept;

    // Those of the remembered that are acknowledged after all; raises the threshold by them.
    std::uint32_t recognise(const AckFrame& ack) noexcept;

    PacketNumber largest_acked_ = 0;  // one more than it; 0: none
    Time deadline_ = never;
    std::uint32_t packet_threshold_ = packet_threshold_min;
    std::uint32_t remembered_ = 0;
    std::uint32_t next_remembered_ = 0;
    std::array<PacketNumber, remembered_max> lost_{};  // the last taken for lost, as a ring
};

}  // namespace acp::datagram
