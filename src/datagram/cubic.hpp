// SPDX-License-Identifier: BSD-3-Clause
// Loss-based congestion control as in TCP's CUBIC (RFC 9438): for paths whose delay says nothing
// about their queue, and for users who want exactly TCP's share. Slow start ends when the least RTT
// of a round has grown by an eighth, at least by 4 ms (HyStart++, RFC 9406). Knows no clock. One
// thread.
// Tests: tests/unit/datagram/congestion_conformance_test.cpp; tests/unit/sim/rival_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/congestion.hpp"
#include "datagram/cubic_curve.hpp"

namespace acp::datagram {

class Cubic final : public Congestion {
public:
    static constexpr std::uint32_t initial_datagrams = 32;
    static constexpr std::uint32_t floor_datagrams = 2;
    static constexpr std::uint64_t window_max = 1ULL << 30;
    static constexpr Time slow_start_delay_min_ns = 4'000'000;

    explicit Cubic(std::uint32_t datagram_bytes) noexcept;

    void on_sample(const CongestionSample& sample) noexcept override;
    void on_silence() noexcept override;
    void on_spurious() noexcept override;

    [[nodiscard]] std::uint64_t window_bytes() const noexcept override {
        return static_cast<std::uint64_t>(window_);
    }

    [[nodiscard]] std::uint64_t pacing_window_bytes() const noexcept override {
        return window_bytes();
    }

    [[nodiscard]] bool is_slow_start() const noexcept override { return is_slow_start_; }

private:
    void reduce(Time now) noexcept;
    void end_round(const CongestionSample& sample) noexcept;

    std::uint32_t datagram_;
    double window_;             // bytes
    double window_before_ = 0;  // before the last reduction; 0: nothing to restore
    CubicCurve curve_;
    Time reduced_at_ = 0;            // losses of datagrams sent earlier cause no reduction
    Time round_began_ = 0;           // 0: no round has begun
    Time round_least_ = never;       // least RTT of this round
    Time least_ = never;             // least RTT of all rounds
    bool is_round_limited_ = false;  // the window limited the sender during this round
    bool is_slow_start_ = true;
};

}  // namespace acp::datagram
