// SPDX-License-Identifier: BSD-3-Clause
// How a window grows after congestion, by the curve of CUBIC (RFC 9438): fast at first, flat near
// the window at which congestion began, then fast again; and never slower than a Reno flow with the
// same mean. So a flow that follows the curve takes as much as the TCP flows beside it. It is asked
// once per round trip. Knows neither clock nor losses. One thread.
// Tests: tests/unit/datagram/cubic_curve_test.cpp.
#pragma once

#include "datagram/time.hpp"

namespace acp::datagram {

class CubicCurve {
public:
    static constexpr double beta = 0.7;            // share of the window that a reduction leaves
    static constexpr double aggressiveness = 0.4;  // RFC 9438's C, datagrams per cubic second
    static constexpr double growth_max = 1.5;      // largest growth factor per round trip
    // Growth per round trip, in datagrams, of a Reno flow with the same mean (RFC 9438, 4.3).
    static constexpr double friendly_growth = 3 * (1 - beta) / (1 + beta);

    // Starts the curve after a reduction from `before` to `after` datagrams.
    void begin(double before, double after) noexcept;

    void end() noexcept { is_active_ = false; }

    [[nodiscard]] bool is_active() const noexcept { return is_active_; }

    // Returns the window a round trip from now, in datagrams; not less than `window`.
    [[nodiscard]] double grow(Time now, Time rtt_ns, double window) noexcept;

private:
    double most_ = 0;       // RFC 9438's W_max: the window at which congestion began
    double friendly_ = 0;   // RFC 9438's W_est: the window of a Reno flow
    double reached_s_ = 0;  // RFC 9438's K: seconds from the curve's start until most_
    Time began_ = never;    // time of the first growth after begin(); never: none yet
    bool is_active_ = false;
};

}  // namespace acp::datagram
