// SPDX-License-Identifier: BSD-3-Clause
// Computes the probe timeout and its backoff. One thread.
#include "datagram/probe_timer.hpp"

#include <algorithm>

namespace acp::datagram {

// WIRE-51
Time ProbeTimer::timeout(const RttEstimator& rtt) const noexcept {
    const Time single =
        rtt.smoothed() + std::max(4 * rtt.variation(), granularity_ns) + ack_delay_max_ns;
    // The first probe is as likely to be lost as the datagram it asks about, so the second timeout
    // is no longer than the first.
    std::uint32_t doublings = std::min(expirations_ == 0 ? 0 : expirations_ - 1, 16U);
    Time most = timeout_max_ns;
    Time first = single;
    // On a short path the timeout stays short for soon_count, then short_count expirations; the
    // usual doubling begins after them.
    if (rtt.has_sample() && single <= short_timeout_ns) {
        if (expirations_ <= short_count) {
            most = expirations_ <= soon_count ? soon_timeout_ns : short_timeout_ns;
        } else {
            first = short_timeout_ns;
            doublings = std::min(expirations_ - short_count, 16U);
        }
    }
    return std::min(longest_, std::max(single, std::min(first << doublings, most)));
}

void ProbeTimer::arm(Time now, const RttEstimator& rtt) noexcept {
    deadline_ = now + timeout(rtt);
}

// WIRE-52
std::uint32_t ProbeTimer::expire(Time now, const RttEstimator& rtt) noexcept {
    ++expirations_;
    arm(now, rtt);
    return std::clamp(expirations_ + 1, probes_min, probes_max);
}

}  // namespace acp::datagram
