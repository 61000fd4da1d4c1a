// SPDX-License-Identifier: BSD-3-Clause
// A model of a TCP sender with CUBIC congestion control (RFC 9438) and endless data: the traffic of
// other programs on the link that a job shares. Slow start ends by HyStart (RFC 9406, the delay
// rule); three later acknowledgements show a loss; all losses of one window cause one reduction;
// nothing is paced. A retransmitted segment counts like a new one, since the receiver's byte order
// does not matter here. It shares no code with the algorithms that it judges. One thread.
// Tests: tests/unit/sim/tcp_cubic_test.cpp.
#pragma once

#include <cstdint>
#include <deque>

#include "sim/judge.hpp"

namespace acp::sim {

class TcpCubic {
public:
    static constexpr double beta = 0.7;
    static constexpr double aggressiveness = 0.4;  // RFC 9438's C, segments per cubic second
    static constexpr double initial_window = 10;   // segments
    static constexpr Time timeout_min_ns = 200'000'000;
    // A segment counts as lost when this many later segments were acknowledged.
    static constexpr std::uint64_t overtaken_by = 3;

    // Segments that may be sent now.
    [[nodiscard]] std::uint64_t room() const noexcept;

    // Sends a segment. Returns its number, by which it is acknowledged.
    std::uint64_t send(Time now);

    // The receiver acknowledges a segment. Segments arrive in the order in which they were sent.
    void on_ack(Time now, std::uint64_t number);

    // Call at deadline(), unless that has moved: all segments in flight count as lost, and the
    // window falls to one segment.
    void on_timeout(Time now);

    // When the retransmission timeout expires; datagram::never: nothing is in flight.
    [[nodiscard]] Time deadline() const noexcept { return deadline_; }

    [[nodiscard]] double window() const noexcept { return window_; }  // segments

    [[nodiscard]] bool is_slow_start() const noexcept { return window_ < threshold_; }

private:
    struct SentSegment {
        std::uint64_t number = 0;
        Time sent = 0;
    };

    void sample(Time now, Time rtt) noexcept;
    void grow(Time now) noexcept;
    void reduce() noexcept;
    void end_slow_start_by_delay(Time rtt) noexcept;

    std::deque<SentSegment> in_flight_;
    std::uint64_t next_ = 0;
    std::uint64_t recovery_end_ = 0;  // losses of earlier segments belong to the last reduction
    double window_ = initial_window;
    double threshold_ = 1e18;     // slow start ends here, segments
    double window_max_ = 0;       // W_max: window before the last reduction
    double reached_at_ = 0;       // K: seconds from the epoch's start until window_max_
    double friendly_window_ = 0;  // W_est: the window of a Reno flow with the same mean
    double epoch_window_ = 0;     // window when the epoch began
    Time epoch_ = 0;              // 0: none since the last reduction
    Time smoothed_rtt_ = 0;
    Time rtt_variation_ = 0;
    Time least_rtt_ = ~Time{0};
    Time round_least_rtt_ = ~Time{0};
    std::uint64_t round_end_ = 0;  // first segment of the next round (HyStart)
    std::uint32_t round_samples_ = 0;
    Time deadline_ = ~Time{0};
};

}  // namespace acp::sim
