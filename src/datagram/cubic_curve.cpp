// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of CUBIC's curve. One thread.
#include "datagram/cubic_curve.hpp"

#include <algorithm>
#include <cmath>

namespace acp::datagram {

void CubicCurve::begin(double before, double after) noexcept {
    // Fast convergence (RFC 9438, 4.7): a flow whose congestion began at a smaller window than the
    // last time leaves room for other flows.
    most_ = is_active_ && before < most_ ? before * (1 + beta) / 2 : before;
    most_ = std::max(most_, after);
    friendly_ = after;
    began_ = never;
    is_active_ = true;
}

double CubicCurve::grow(Time now, Time rtt_ns, double window) noexcept {
    if (began_ == never) {
        began_ = now;
        reached_s_ = std::cbrt((most_ - std::min(most_, window)) / aggressiveness);
    }
    // W_cubic(t) of RFC 9438, 4.2, one round trip ahead; t counts seconds from the curve's
    // inflection point.
    const double t = static_cast<double>(now + rtt_ns - began_) / 1e9 - reached_s_;
    const double target = aggressiveness * t * t * t + most_;
    friendly_ += friendly_ < most_ ? friendly_growth : 1;
    return std::clamp(std::max(target, friendly_), window, std::max(window, growth_max * window));
}

}  // namespace acp::datagram
