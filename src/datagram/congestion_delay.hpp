// SPDX-License-Identifier: BSD-3-Clause
// Congestion control by delay, after Swift (Kumar et al., SIGCOMM 2020), changed for kernel sockets. The target is
// the same for all short paths, whatever round trip a newcomer finds, and grows as a window gets smaller: so large
// windows give way to small ones. It leaves room for the batches of 64 KiB that sender and receiver handle at once.
// A round counts by its least delay, so that a thread that was late is no congestion. Loss counts as congestion
// when a queue stands, however short, or it is more than a few per cent; so scattered loss costs little. After it
// the window grows as TCP's does (CubicCurve), until delay is reason to reduce it. Marks count as in DCTCP. Additive
// increase makes flows equal; far below the target the window grows by an eighth per round, so that it recovers soon.
// Where flows that do not give way for delay keep the queue full (RivalDetector), it does not give way either.
// The least round trip is measured anew, with an emptied path, when it was not seen for long.
// Knows no clock. One thread.
// Tests: tests/unit/datagram/congestion_delay_test.cpp, congestion_link_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/congestion.hpp"
#include "datagram/cubic_curve.hpp"
#include "datagram/rival_detector.hpp"

namespace acp::datagram {

class CongestionDelay final : public Congestion {
public:
    static constexpr Time short_path_target_ns = 350'000;  // of the whole round trip
    static constexpr Time long_path_extra_ns = 150'000;    // above the least, where that is more
    static constexpr Time long_path_share = 8;             // or this part of the least
    static constexpr Time scale_ns =
        100'000;  // more, for a window of scale_bytes; as its inverse root
    static constexpr std::uint64_t scale_bytes = 1U << 20;
    static constexpr Time scale_max_ns = 3'000'000;
    static constexpr std::uint32_t initial_datagrams = 32;
    static constexpr std::uint32_t floor_datagrams = 2;
    static constexpr std::uint64_t window_max = 1ULL << 30;
    // The receiver asks for drains; without it, one begins when the least round trip was not seen for so long.
    static constexpr Time drain_pause_ns = 100'000'000;  // at least, from one drain to the next
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
    // One round trip: from when something was sent until it was acknowledged.
    struct Round {
        Time began = 0;  // 0: not yet
        Time least_rtt = never;
        std::uint64_t acked_bytes = 0;
        std::uint32_t acked = 0;
        std::uint32_t marked = 0;
        bool is_window_limited = false;
    };

    // Losses among the last some hundred datagrams.
    struct LossCount {
        std::uint32_t lost = 0;
        std::uint32_t all = 0;
    };

    void end_round(const CongestionSample& sample) noexcept;
    [[nodiscard]] bool judge_delay(const CongestionSample& sample) noexcept;  // true: reduced
    [[nodiscard]] bool judge_marks(const CongestionSample& sample) noexcept;
    void judge_loss(const CongestionSample& sample) noexcept;
    void compete() noexcept;
    void grow(const CongestionSample& sample) noexcept;
    [[nodiscard]] bool has_queue(Time rtt_ns) const noexcept;
    // Where between the least round trip (0) and the target (1) a round trip lies.
    [[nodiscard]] double fullness(Time rtt_ns) const noexcept;
    void note_least(const CongestionSample& sample) noexcept;
    void drain_when_due(const CongestionSample& sample) noexcept;
    void reduce(Time now, double factor) noexcept;
    void limit_window() noexcept;
    void set_target() noexcept;

    std::uint32_t datagram_;
    double window_;  // bytes; below floor_datagrams it is kept by pacing
    double before_reduction_ = 0;
    double marked_ = 1;  // DCTCP's alpha
    CubicCurve curve_;
    RivalDetector rivals_;
    Time target_ = short_path_target_ns;
    Time least_rtt_ = never;
    Time least_seen_ = 0;
    Time latest_rtt_ = 0;
    Time reduced_at_ = 0;
    Time emptied_at_ = never;  // while draining: when the path was empty of ours; never: not yet
    Time drained_at_ = 0;
    Time drain_hold_ = 0;
    Time drained_least_ = never;
    Round round_;
    LossCount losses_;
    bool is_slow_start_ = true;
    bool is_draining_ = false;
    bool was_reduced_by_loss_ = false;
};

}  // namespace acp::datagram
