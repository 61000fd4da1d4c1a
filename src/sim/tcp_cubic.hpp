// SPDX-License-Identifier: BSD-3-Clause
// A TCP sender with CUBIC congestion control (RFC 9438) and endless data, as a pure model: what other programs do on
// the link that a job shares. Slow start ends by HyStart (RFC 9406, the delay rule), losses are found by
// three later acknowledgements, a window's losses are one reduction, nothing is paced. What it sends again counts as
// what it sends first: the receiver's order of bytes is of no interest here. Shares no code with what it judges.
// One thread. Tests: tests/unit/sim/tcp_cubic_test.cpp.
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
    static constexpr std::uint64_t overtaken_by = 3;  // segments: then one is lost

    // Segments that may be sent now.
    [[nodiscard]] std::uint64_t room() const noexcept;

    // A segment leaves. Returns its number, by which it is acknowledged.
    std::uint64_t send(Time now);

    // The receiver tells that this segment came. Segments arrive in the order they were sent.
    void on_ack(Time now, std::uint64_t number);

    // To be called at deadline(), where that did not move: all in flight is lost, the window is one segment.
    void on_timeout(Time now);

    [[nodiscard]] Time deadline() const noexcept {
        return deadline_;
    }  // datagram::never: nothing in flight

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
    std::uint64_t recovery_end_ = 0;  // losses before it are of the reduction that was made
    double window_ = initial_window;
    double threshold_ = 1e18;
    double window_max_ = 0;       // before the last reduction
    double reached_at_ = 0;       // K: seconds from the epoch's start until window_max_
    double friendly_window_ = 0;  // what a Reno of the same mean would have
    double epoch_window_ = 0;
    Time epoch_ = 0;  // 0: none since the last reduction
    Time smoothed_rtt_ = 0;
    Time rtt_variation_ = 0;
    Time least_rtt_ = ~Time{0};
    Time round_least_rtt_ = ~Time{0};
    std::uint64_t round_end_ = 0;
    std::uint32_t round_samples_ = 0;
    Time deadline_ = ~Time{0};
};

}  // namespace acp::sim
