// SPDX-License-Identifier: BSD-3-Clause
// Congestion control by delay, after Swift (Kumar et al., SIGCOMM 2020), changed for kernel sockets: the target is
// the least round trip, a base target, and an allowance for the time that batches of 64 KiB take by themselves at
// the rate measured. A round counts by its least delay, so that a thread that was late is no congestion. Loss counts
// as congestion when it comes with delay or is more than a few per cent; so scattered loss costs little. Marks count
// as in DCTCP. Additive increase makes flows equal; far below the target the window grows by an eighth per round, so
// that it recovers soon. The least round trip is measured anew, with an emptied path, when it was not seen for long.
// Knows no clock. One thread.
// Tests: tests/unit/datagram/congestion_delay_test.cpp, congestion_link_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/congestion.hpp"

namespace acp::datagram {

class CongestionDelay final : public Congestion {
public:
    static constexpr Time base_target_ns = 200'000;
    static constexpr Time batch_target_max_ns = 300'000;
    static constexpr std::uint64_t batch_bytes = 65536;
    static constexpr std::uint64_t batches_allowed = 6;  // in and between sender, path and receiver
    static constexpr std::uint32_t initial_datagrams = 32;
    static constexpr std::uint32_t floor_datagrams = 2;
    static constexpr std::uint64_t window_max = 1ULL << 30;
    static constexpr Time drain_after_ns = 8'000'000'000;  // since the least round trip was seen

    explicit CongestionDelay(std::uint32_t datagram_bytes) noexcept;

    void on_sample(const CongestionSample& sample) noexcept override;
    void on_silence() noexcept override;
    void on_spurious() noexcept override;
    [[nodiscard]] std::uint64_t window_bytes() const noexcept override;
    [[nodiscard]] std::uint64_t pacing_window_bytes() const noexcept override;

    [[nodiscard]] bool is_slow_start() const noexcept override { return is_slow_start_; }

    [[nodiscard]] Time target_ns() const noexcept { return least_rtt_ + allowed_; }

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
    void grow() noexcept;
    void drain_when_due(const CongestionSample& sample) noexcept;
    void reduce(Time now, double factor) noexcept;
    void limit_window() noexcept;
    void set_target() noexcept;

    std::uint32_t datagram_;
    double window_;  // bytes; below floor_datagrams it is kept by pacing
    double before_reduction_ = 0;
    double rate_ = 0;    // bytes per ns: the best of recent rounds, fading
    double marked_ = 1;  // DCTCP's alpha
    Time allowed_ = base_target_ns + batch_target_max_ns;  // of delay above the least
    Time least_rtt_ = 0;
    Time latest_rtt_ = 0;
    Time reduced_at_ = 0;
    Time drained_at_ =
        0;  // the end of the last drain, or since when this one is empty; never: not yet
    Round round_;
    LossCount losses_;
    bool is_slow_start_ = true;
    bool is_draining_ = false;
    bool was_reduced_by_loss_ = false;
};

}  // namespace acp::datagram
