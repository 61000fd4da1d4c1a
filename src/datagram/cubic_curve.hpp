// SPDX-License-Identifier: BSD-3-Clause
// How a window grows after congestion was met, by the curve of CUBIC (RFC 9438): fast at first, flat near the window
// that met it, then fast again; and never slower than a Reno of the same mean. So a flow that follows it takes as much
// as the TCP flows beside it. Told once per round trip. Knows no clock and no loss. One thread.
// Tests: tests/unit/datagram/cubic_curve_test.cpp.
#pragma once

#include "datagram/time.hpp"

namespace acp::datagram {

class CubicCurve {
public:
    static constexpr double beta = 0.7;            // of the window is left by a reduction
    static constexpr double aggressiveness = 0.4;  // RFC 9438's C, datagrams per cubic second
    static constexpr double growth_max = 1.5;      // of the window, per round trip
    // Per round trip, of the Reno that has the same mean: RFC 9438, section 4.3.
    static constexpr double friendly_growth = 3 * (1 - beta) / (1 + beta);

    // A reduction was made, from `before` to `after` datagrams.
    void begin(double before, double after) noexcept;

    void end() noexcept { is_active_ = false; }

    [[nodiscard]] bool is_active() const noexcept { return is_active_; }

    // Returns the window a round trip from now, in datagrams; not less than `window`.
    [[nodiscard]] double grow(Time now, Time rtt_ns, double window) noexcept;

private:
    double most_ = 0;       // where congestion was met
    double friendly_ = 0;   // Reno's window
    double reached_s_ = 0;  // RFC 9438's K: from the curve's start until most_
    Time began_ = never;    // the first growth after begin(); never: not yet
    bool is_active_ = false;
};

}  // namespace acp::datagram
