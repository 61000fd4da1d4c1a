// SPDX-License-Identifier: BSD-3-Clause
// Delay-based congestion control after Swift (Kumar et al., SIGCOMM 2020), adapted to kernel
// sockets. The target delay is the same for all short paths, whatever RTT a new flow happens to
// find, and grows as the window shrinks, so that large windows give way to small ones. It leaves
// room for the batches of 64 KiB that sender and receiver handle at once. A round is judged by its
// least RTT, so that a thread that was scheduled late does not look like congestion. Loss counts as
// congestion if there is a queue, however short, or if it exceeds a few per cent; so random loss
// costs little. After such a loss the window grows as TCP's does (CubicCurve), until delay gives
// reason to reduce it. ECN marks count as in DCTCP. Additive increase makes flows equal; far below
// the target the window grows by an eighth per round, so that it recovers soon. If flows that do
// not react to delay keep the queue full (RivalDetector), it does not react to delay either. If the
// minimum RTT was not seen for long, the path is drained and the minimum measured afresh. Knows no
// clock. One thread.
// Tests: tests/unit/datagram/congestion_delay_test.cpp, congestion_link_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/congestion.hpp"
#include "datagram/cubic_curve.hpp"
#include "datagram/rival_detector.hpp"

namespace acp::datagram {

class CongestionDelay final : public Congestion {
public:
    // Target RTT where the minimum RTT is small.
    static constexpr Time short_path_target_ns = 350'000;
    // Else the target exceeds the minimum RTT by this.
    static constexpr Time long_path_extra_ns = 150'000;
    static constexpr Time long_path_share = 8;  // or by 1 / long_path_share of it, if more
    // Added to the target for a window of scale_bytes; proportional to 1 / sqrt(window), at most
    // scale_max_ns.
    static constexpr Time scale_ns = 100'000;
    static constexpr std::uint64_t scale_bytes = 1U << 20;
    static constexpr Time scale_max_ns = 3'000'000;
    static constexpr std::uint32_t initial_datagrams = 32;
    static constexpr std::uint32_t floor_datagrams = 2;
    static constexpr std::uint64_t window_max = 1ULL << 30;
    // Receivers ask their senders for drains (AckFrame::is_drain). Without such a request a drain
    // begins when the minimum RTT was not seen for patience_rounds round trips, within the bounds
    // of patience_*_ns.
    static constexpr Time drain_pause_ns = 100'000'000;  // least time from one drain to the next
    static constexpr std::uint64_t drain_pause_rounds = 30;
    static constexpr std::uint64_t patience_rounds = 200;
    static constexpr Time patience_min_ns = 1'000'000'000;
    static constexpr Time patience_max_ns = 10'000'000'000;

    explicit CongestionDelay(std::uint32_t datagram_bytes) noexcept;

    void on_sample(const CongestionSample& sample) noexcept override;
    void on_silence() noexcept override;
    void on_spurious() noexcept override;
    [[nodiscard]] std::uint64_t window_bytes() const noexcept override;
    [[nodiscard]] std::uint64_t pacing_window_bytes() const noexcept override;

    [[nodiscard]] bool is_slow_start() const noexcept override { return is_slow_start_; }

    [[nodiscard]] Time target_ns() const noexcept { return target_; }

private:
    // One round: from the sending of a datagram until its acknowledgement. Collects what the
    // samples of the round showed.
    struct Round {
        Time began = 0;  // 0: no round has begun
        Time least_rtt = never;
        std::uint64_t acked_bytes = 0;
        std::uint32_t acked = 0;
        std::uint32_t marked = 0;
        bool is_window_limited = false;  // the window was the limit at least once
    };

    // Losses among the last few hundred datagrams.
    struct LossCount {
        std::uint32_t lost = 0;
        std::uint32_t all = 0;
    };

    void end_round(const CongestionSample& sample) noexcept;
    // These two return whether they reduced the window.
    [[nodiscard]] bool judge_delay(const CongestionSample& sample) noexcept;
    [[nodiscard]] bool judge_marks(const CongestionSample& sample) noexcept;
    void judge_loss(const CongestionSample& sample) noexcept;
    void compete() noexcept;
    void grow(const CongestionSample& sample) noexcept;
    [[nodiscard]] bool has_queue(Time rtt_ns) const noexcept;
    // Where an RTT lies between the minimum RTT (0) and the target (1).
    [[nodiscard]] double fullness(Time rtt_ns) const noexcept;
    void note_least(const CongestionSample& sample) noexcept;
    void drain_when_due(const CongestionSample& sample) noexcept;
    void reduce(Time now, double factor) noexcept;
    void limit_window() noexcept;
    void set_target() noexcept;

    std::uint32_t datagram_;
    double window_;                // bytes; may be below floor_datagrams: the pacer enforces it
    double before_reduction_ = 0;  // window_ before the last reduction; on_spurious() restores it
    double marked_ = 1;            // DCTCP's alpha: smoothed share of marked datagrams
    CubicCurve curve_;
    RivalDetector rivals_;
    Time target_ = short_path_target_ns;
    Time least_rtt_ = never;  // minimum RTT
    Time least_seen_ = 0;     // when it was last measured or confirmed
    Time latest_rtt_ = 0;
    Time reduced_at_ = 0;         // losses of datagrams sent earlier cause no reduction
    Time emptied_at_ = never;     // while draining: when the path became empty of our datagrams
    Time drained_at_ = 0;         // end of the last drain
    Time drain_hold_ = 0;         // how long this drain keeps the path empty
    Time drained_least_ = never;  // minimum RTT found by this drain
    Round round_;
    LossCount losses_;
    bool is_slow_start_ = true;
    bool is_draining_ = false;
    bool was_reduced_by_loss_ = false;
};

}  // namespace acp::datagram
