// SPDX-License-Identifier: BSD-3-Clause
// The probe timeout and its backoff. One thread.
#include "datagram/probe_timer.hpp"

#include <algorithm>

namespace acp::datagram {

// WIRE-51
Time ProbeTimer::timeout(const RttEstimator& rtt) const noexcept {
    const Time single =
        rtt.smoothed() + std::max(4 * rtt.variation(), granularity_ns) + ack_delay_max_ns;
    // The first probe is as likely to be lost as what it asks for: the second waits no longer.
    const std::uint32_t doublings = std::min(expirations_ == 0 ? 0 : expirations_ - 1, 16U);
    return std::min(longest_, std::max(single, std::min(single << doublings, timeout_max_ns)));
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
