// SPDX-License-Identifier: BSD-3-Clause
// Loss-based congestion control as in RFC 9002, section 7: slow start, then one datagram more per
// round trip, and halving at most once per round trip. It serves as a yardstick for the other
// algorithms, and on paths whose delay says nothing. Knows no clock. One thread.
// Tests: tests/unit/datagram/congestion_conformance_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/congestion.hpp"

namespace acp::datagram {

class NewReno final : public Congestion {
public:
    static constexpr std::uint32_t initial_datagrams = 32;
    static constexpr std::uint32_t floor_datagrams = 2;
    static constexpr std::uint64_t window_max = 1ULL << 30;

    explicit NewReno(std::uint32_t datagram_bytes) noexcept;

    void on_sample(const CongestionSample& sample) noexcept override;
    void on_silence() noexcept override;
    void on_spurious() noexcept override;

    [[nodiscard]] std::uint64_t window_bytes() const noexcept override { return window_; }

    [[nodiscard]] std::uint64_t pacing_window_bytes() const noexcept override { return window_; }

    [[nodiscard]] bool is_slow_start() const noexcept override { return window_ < threshold_; }

private:
    void reduce(Time now) noexcept;

    std::uint32_t datagram_;
    std::uint64_t window_;
    std::uint64_t threshold_ = window_max;  // slow start ends here (ssthresh), bytes
    std::uint64_t window_before_ = 0;       // before the last reduction; 0: nothing to restore
    std::uint64_t threshold_before_ = 0;
    std::uint64_t acked_ = 0;  // bytes acknowledged towards the next datagram of growth
    Time reduced_at_ = 0;      // losses of datagrams sent earlier cause no reduction
};

}  // namespace acp::datagram
