// SPDX-License-Identifier: BSD-3-Clause
// Gaps and sizes of bursts. One thread.
#include "datagram/pacer.hpp"

namespace acp::datagram {

// WIRE-59
void Pacer::set_rate(std::uint64_t window_bytes,
                     Time smoothed_rtt_ns,
                     bool is_slow_start) noexcept {
    constexpr double gain = 1.25;
    constexpr double gain_slow_start = 2.0;  // the window doubles while it is sent
    const double window = static_cast<double>(std::max<std::uint64_t>(window_bytes, 1));
    window_ = window_bytes;
    ns_per_byte_ =
        static_cast<double>(smoothed_rtt_ns) / (window * (is_slow_start ? gain_slow_start : gain));
    lateness_ = std::clamp(smoothed_rtt_ns / 2, lateness_min_ns, lateness_max_ns);
}

std::uint64_t Pacer::burst_bytes(std::uint32_t datagram_bytes) const noexcept {
    const std::uint64_t few = burst_datagrams_min * datagram_bytes;
    const std::uint64_t wanted = window_ < few ? window_ : std::max(few, window_ / 4);
    const std::uint64_t datagrams = std::min(wanted, burst_bytes_max) / datagram_bytes;
    return std::max<std::uint64_t>(datagrams, 1) * datagram_bytes;
}

void Pacer::on_sent(Time now, std::uint64_t bytes) noexcept {
    const Time earliest = now - std::min(now, lateness_);
    next_ =
        std::max(next_, earliest) + static_cast<Time>(static_cast<double>(bytes) * ns_per_byte_);
}

}  // namespace acp::datagram
