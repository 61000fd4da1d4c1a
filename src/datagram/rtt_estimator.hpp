// SPDX-License-Identifier: BSD-3-Clause
// Round trip time of one path: smoothed, its mean deviation (RFC 6298, with RFC 9002's handling of the peer's
// delay), and the least of the last 10 s. Knows no clock: samples bring their time. One thread.
// Tests: tests/unit/datagram/rtt_estimator_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class RttEstimator {
public:
    static constexpr Time min_window_ns = 10'000'000'000;
    static constexpr Time delay_max_ns = 50'000'000;  // what a peer may claim to have waited

    explicit RttEstimator(Time initial_rtt_ns) noexcept : smoothed_(initial_rtt_ns) {}

    // A datagram sent at `sent` was acknowledged; the peer says it waited delay_ns before it told so. A delay not
    // less than the whole round trip is not believed.
    void sample(Time now, Time sent, Time delay_ns) noexcept;

    [[nodiscard]] bool has_sample() const noexcept { return has_sample_; }

    [[nodiscard]] Time smoothed() const noexcept { return smoothed_; }

    [[nodiscard]] Time variation() const noexcept { return variation_; }

    [[nodiscard]] Time latest() const noexcept { return latest_; }  // without the peer's delay

    // Least of the last 10 s, the peer's delay taken off; the initial one before any sample.
    [[nodiscard]] Time least() const noexcept { return least_; }

    [[nodiscard]] Time least_seen_at() const noexcept { return least_seen_; }

private:
    // The least in each of the last parts of the window; the oldest part falls out as a whole.
    static constexpr std::uint64_t parts = 10;
    static constexpr Time part_ns = min_window_ns / parts;

    struct Part {
        std::uint64_t number = 0;  // time / part_ns
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
