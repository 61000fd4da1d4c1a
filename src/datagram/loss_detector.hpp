// SPDX-License-Identifier: BSD-3-Clause
// Loss detection (RFC 9002, 6.1): a datagram counts as lost when another one was acknowledged whose
// number is higher by the packet threshold, or that was sent later by the time threshold. When a
// loss proves spurious (the packet was only overtaken), the packet threshold rises, up to 64.
// Removes records from SentDatagrams and reports each to the caller; does not send anything again,
// and knows no congestion control. One thread.
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

// The datagrams that one acknowledgement, or the passing of time, settled as acknowledged or lost.
// Path probes are not counted.
struct SettledPackets {
    std::uint64_t acked_bytes = 0;
    std::uint32_t acked = 0;
    std::uint64_t lost_bytes = 0;
    std::uint32_t lost = 0;
    // The lost datagrams whose direct predecessor in the same burst was lost too: a sign that a
    // queue overflowed.
    std::uint32_t lost_together = 0;
    std::uint32_t spurious = 0;  // declared lost earlier, and acknowledged now
    // When the largest acknowledged packet was sent, if it is newly acknowledged (an RTT sample);
    // else never.
    Time largest_sent = never;
    Time newest_lost_sent = 0;     // when the most recently sent of the lost left
    PacketNumber latest_lost = 0;  // the last that was counted as lost
};

class LossDetector {
public:
    static constexpr std::uint32_t packet_threshold_min = 3;
    static constexpr std::uint32_t packet_threshold_max = 64;
    // A smaller threshold takes a late thread for a loss.
    static constexpr Time time_floor_ns = 200'000;
    static constexpr std::size_t remembered_max = 32;  // losses that may still prove spurious

    // Removes the records of newly acknowledged packets and calls acked(number, const
    // SentDatagram&) for each. To be followed by detect(). The caller has checked that ack.largest
    // < sent.next().
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

    // Removes the records of packets that count as lost, calls lost(number, const SentDatagram&)
    // for each, and adds them to `settled`. Sets deadline() to the time when the oldest remaining
    // packet will be lost by the time threshold.
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

    // Declares all packets in flight lost, as after persistent congestion (RFC 9002, 7.6).
    template <class Lost>
    void lose_all(SentDatagrams& sent, SettledPackets& settled, Lost&& lost) {
        sent.take_lost([&](PacketNumber number, const SentDatagram& record) {
            settle(number, record, settled);
            lost(number, record);
            return true;
        });
        deadline_ = never;
    }

    // When to call detect() although nothing was acknowledged; never: no need.
    [[nodiscard]] Time deadline() const noexcept { return deadline_; }

    [[nodiscard]] std::uint32_t packet_threshold() const noexcept { return packet_threshold_; }

    // A packet is lost if one sent later was acknowledged and this much time has passed since it
    // was sent.
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

    // Finds remembered losses that an acknowledgement shows to be spurious, raises the packet
    // threshold accordingly, and returns how many there are.
    std::uint32_t recognise(const AckFrame& ack) noexcept;

    PacketNumber largest_acked_ = 0;  // one more than the largest acknowledged; 0: none yet
    Time deadline_ = never;
    std::uint32_t packet_threshold_ = packet_threshold_min;
    std::uint32_t remembered_ = 0;
    std::uint32_t next_remembered_ = 0;
    std::array<PacketNumber, remembered_max> lost_{};  // ring: the last packets declared lost
};

}  // namespace acp::datagram
