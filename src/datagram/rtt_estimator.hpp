// SPDX-License-Identifier: BSD-3-Clause
// Round trip time (RTT) of one path: smoothed RTT and mean deviation (RFC 6298, with the
// acknowledgement delay handled as in RFC 9002, 5), and the minimum over the last 10 s. Knows no
// clock: each sample contains its time. One thread.
// Tests: tests/unit/datagram/rtt_estimator_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class RttEstimator {
public:
    static constexpr Time min_window_ns = 10'000'000'000;
    // Longest acknowledgement delay that is believed.
    static constexpr Time delay_max_ns = 50'000'000;

    explicit RttEstimator(Time initial_rtt_ns) noexcept : smoothed_(initial_rtt_ns) {}

    // Takes a sample: a datagram sent at `sent` was acknowledged at `now`, after the peer delayed
    // the acknowledgement by delay_ns. A delay not less than the whole round trip is ignored.
    void sample(Time now, Time sent, Time delay_ns) noexcept;

    [[nodiscard]] bool has_sample() const noexcept { return has_sample_; }

    [[nodiscard]] Time smoothed() const noexcept { return smoothed_; }

    [[nodiscard]] Time variation() const noexcept { return variation_; }

    [[nodiscard]] Time latest() const noexcept { return latest_; }  // less the peer's delay

    // The minimum of the last 10 s, less the peer's delay; the initial RTT before any sample.
    [[nodiscard]] Time least() const noexcept { return least_; }

    [[nodiscard]] Time least_seen_at() const noexcept { return least_seen_; }

private:
    // The window is divided into parts with one minimum each; the oldest part expires as a whole.
    static constexpr std::uint64_t parts = 10;
    static constexpr Time part_ns = min_window_ns / parts;

    struct Part {
        std::uint64_t number = 0;  // time / part_ns of the samples it holds
        Time least = never;
        Time seen = 0;
    };

    void note_least(Time now, Time raw) noexcept;

    Time smoothed_;
    Time variation_ = smoothed_ / 2;
    Time latest_ = smoothed_;
    Time least_ = smoothed_;
    Time least_seen_ = 0;
    std::array<Part, parts> parts_{};
    bool has_sample_ = false;
};

}  // namespace acp::datagram
