// SPDX-License-Identifier: BSD-3-Clause
// Computes the gaps between bursts and their sizes. One thread.
#include "datagram/pacer.hpp"

namespace acp::datagram {

// WIRE-59
void Pacer::set_rate(std::uint64_t window_bytes,
                     Time smoothed_rtt_ns,
                     bool is_slow_start) noexcept {
    constexpr double gain = 1.25;
    constexpr double gain_slow_start = 2.0;  // slow start doubles the window within a round trip
    const double window = static_cast<double>(std::max<std::uint64_t>(window_bytes, 1));
    smoothed_rtt_ns = std::min(smoothed_rtt_ns, rtt_max_ns);
    window_ = window_bytes;
    ns_per_byte_ =
        static_cast<double>(smoothed_rtt_ns) / (window * (is_slow_start ? gain_slow_start : gain));
    lateness_ = std::clamp(smoothed_rtt_ns / 2, lateness_min_ns, lateness_max_ns);
}

std::uint64_t Pacer::burst_bytes(std::uint32_t datagram_bytes) const noexcept {
    // A quarter of the window, but at least burst_datagrams_min datagrams, if the window allows as
    // many.
    const std::uint64_t few = burst_datagrams_min * datagram_bytes;
    const std::uint64_t wanted = window_ < few ? window_ : std::max(few, window_ / 4);
    const std::uint64_t datagrams =
        std::min<std::uint64_t>(std::min(wanted, burst_bytes_max) / datagram_bytes, burst_limit_);
    return std::max<std::uint64_t>(datagrams, 1) * datagram_bytes;
}

// WIRE-68
void Pacer::on_settled(Time now,
                       std::uint32_t acked,
                       std::uint32_t lost,
                       std::uint32_t lost_together,
                       Time newest_lost_sent) noexcept {
    lost_ += lost;
    counted_ += acked + lost;
    const bool is_much = lost_ > loss_usual;  // e.g. the last datagram of each burst
    if (counted_ >= loss_memory || is_much) counted_ = lost_ = 0;
    if (lost_together != 0 || is_much) {
        unharmed_ = 0;
        if (newest_lost_sent < limited_at_) return;  // it was sent before the last halving
        burst_limit_ = std::max(burst_limit_ / 2, burst_limit_min);
        limited_at_ = now;
        return;
    }
    unharmed_ += acked;
    if (unharmed_ < limit_doubles_after) return;
    unharmed_ = 0;
    burst_limit_ = std::min(burst_limit_ * 2, burst_limit_max);
}

void Pacer::on_sent(Time now, std::uint64_t bytes) noexcept {
    // A path that holds no long bursts does not hold several short ones at once either, so a late
    // sender does not catch up.
    const Time lateness = burst_limit_ < burst_datagrams_min ? 0 : lateness_;
    const Time earliest = now - std::min(now, lateness);
    next_ = std::max(next_, earliest) + time_of(bytes);
    // Probes are sent regardless of pacing. However many were sent, the next datagram must not wait
    // longer than one window takes.
    next_ = std::min(next_, now + time_of(std::max(bytes, window_)));
}

}  // namespace acp::datagram
