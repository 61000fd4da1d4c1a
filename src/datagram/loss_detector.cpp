// SPDX-License-Identifier: BSD-3-Clause
// Counts lost datagrams and recognises spurious losses. One thread.
#include "datagram/loss_detector.hpp"

namespace acp::datagram {

namespace {

// When a queue overflows, it loses datagrams in a row or every other one; random loss seldom takes
// two so close together.
constexpr PacketNumber lost_together_gap = 2;

}  // namespace

// WIRE-50
Time LossDetector::time_threshold(const RttEstimator& rtt) noexcept {
    const Time longest = std::max(rtt.smoothed(), rtt.latest());
    return std::max(time_floor_ns, longest + longest / 8);
}

void LossDetector::remember(PacketNumber number) noexcept {
    lost_[next_remembered_] = number;
    next_remembered_ = (next_remembered_ + 1) % remembered_max;
    remembered_ = std::min<std::uint32_t>(remembered_ + 1, remembered_max);
}

void LossDetector::settle(PacketNumber number,
                          const SentDatagram& record,
                          SettledPackets& settled) noexcept {
    if (record.is_path_probe) return;
    const bool is_beside = settled.lost != 0 && number <= settled.latest_lost + lost_together_gap &&
                           record.sent == settled.newest_lost_sent;
    settled.lost_together += is_beside ? 1 : 0;
    settled.latest_lost = number;
    ++settled.lost;
    settled.lost_bytes += record.bytes;
    settled.newest_lost_sent = std::max(settled.newest_lost_sent, record.sent);
}

// WIRE-49
std::uint32_t LossDetector::recognise(const AckFrame& ack) noexcept {
    std::uint32_t spurious = 0;
    for (std::uint32_t i = 0; i < remembered_;) {
        const PacketNumber number = lost_[i];
        if (!ack.contains(number)) {
            ++i;
            continue;
        }
        ++spurious;
        // The packet was overtaken by at most this many, as far as the acknowledgement shows.
        const auto distance =
            std::min<PacketNumber>(ack.largest - number + 1, packet_threshold_max);
        packet_threshold_ = std::max(packet_threshold_, static_cast<std::uint32_t>(distance));
        lost_[i] = lost_[--remembered_];
        next_remembered_ = remembered_;
    }
    return spurious;
}

}  // namespace acp::datagram
