// SPDX-License-Identifier: BSD-3-Clause
// When the next burst may leave, so that a window does not leave at once: bursts of at most 64 KiB, one hand-over to
// the kernel, with gaps of bytes / (1.25 * window / rtt). A caller who comes late may make up for it, up to
// half a round trip. Knows no clock and sends nothing. One thread.
// Tests: tests/unit/datagram/pacer_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class Pacer {
public:
    static constexpr std::uint64_t burst_bytes_max = 65507;   // of UDP over IPv4
    static constexpr std::uint64_t burst_datagrams_min = 16;  // within the window
    static constexpr Time lateness_min_ns = 100'000;
    static constexpr Time lateness_max_ns = 1'000'000;

    // After each acknowledgement, and once before the first burst.
    //   window_bytes    Congestion::pacing_window_bytes()
    //   is_slow_start   then the gain is 2 instead of 1.25
    void set_rate(std::uint64_t window_bytes, Time smoothed_rtt_ns, bool is_slow_start) noexcept;

    // Whether a burst may leave now. Always, when it is the first after a silence.
    [[nodiscard]] bool may_send(Time now) const noexcept { return now >= next_; }

    [[nodiscard]] Time deadline() const noexcept { return next_; }  // when may_send becomes true

    // The most bytes of one burst of datagrams of this size: at least one datagram.
    [[nodiscard]] std::uint64_t burst_bytes(std::uint32_t datagram_bytes) const noexcept;

    // A burst of this many bytes left. What a probe timeout or an acknowledgement sends is not told.
    void on_sent(Time now, std::uint64_t bytes) noexcept;

private:
    Time next_ = 0;
    Time lateness_ = 0;
    std::uint64_t window_ = ~0ULL;
    double ns_per_byte_ = 0;
};

}  // namespace acp::datagram
