// SPDX-License-Identifier: BSD-3-Clause
// Control by delay: what happens with each acknowledgement and at the end of each round. One thread.
#include "datagram/congestion_delay.hpp"

#include <algorithm>

namespace acp::datagram {

namespace {

constexpr double delay_gain = 0.8;          // reduction per relative excess over the target
constexpr double delay_factor_min = 0.5;    // at most halved per round
constexpr double loss_factor = 0.7;         // per round, when loss is congestion
constexpr double far_below = 0.5;           // of the delay allowed: the path is not full
constexpr double near_target = 0.75;        // of the delay allowed: loss then is congestion
constexpr double growth_far_below = 0.125;  // of the window, per round
constexpr std::uint32_t loss_min = 8;       // fewer are chance
constexpr double loss_share = 0.03;         // of all: more is no chance
constexpr std::uint32_t loss_memory = 512;  // datagrams the share is reckoned over
constexpr double mark_gain = 1.0 / 16;
constexpr double rate_fading = 1.0 / 16;
constexpr std::uint32_t drained_datagrams = 4;  // in flight while the least round trip is measured
constexpr double slowest = 1.0 / 16;            // of a datagram: the least window, kept by pacing

}  // namespace

CongestionDelay::CongestionDelay(std::uint32_t datagram_bytes) noexcept
    : datagram_(datagram_bytes), window_(static_cast<double>(initial_datagrams) * datagram_bytes) {}

void CongestionDelay::on_sample(const CongestionSample& sample) noexcept {
    datagram_ = sample.datagram_bytes;
    if (round_.began == 0) round_.began = std::max<Time>(sample.now, 1);
    const bool is_limited =
        static_cast<double>(sample.in_flight) >= window_ * (is_slow_start_ ? 0.5 : 0.75);
    round_.acked_bytes += sample.acked_bytes;
    round_.acked += sample.acked;
    round_.marked += sample.marked;
    round_.is_window_limited |= is_limited;
    if (sample.sent != never) {
        round_.least_rtt = std::min(round_.least_rtt, sample.rtt_ns);
        latest_rtt_ = sample.rtt_ns;
        least_rtt_ = sample.least_rtt_ns;
    }
    judge_loss(sample);
    if (is_slow_start_ && is_limited && !is_draining_) {
        window_ += static_cast<double>(sample.acked_bytes);
        limit_window();
    }
    drain_when_due(sample);
    if (sample.sent != never && sample.sent >= round_.began) end_round(sample);
}

void CongestionDelay::end_round(const CongestionSample& sample) noexcept {
    const Time elapsed = sample.now - std::min(sample.now, round_.began);
    if (elapsed != 0) {
        const double rate = static_cast<double>(round_.acked_bytes) / static_cast<double>(elapsed);
        rate_ = std::max(rate, rate_ + (rate - rate_) * rate_fading);
    }
    set_target();
    const bool was_reduced = reduced_at_ >= round_.began;
    if (!is_draining_ && !was_reduced && !judge_marks(sample) && !judge_delay(sample)) grow();
    round_ = Round{};
    round_.began = std::max<Time>(sample.now, 1);
}

// WIRE-61
void CongestionDelay::set_target() noexcept {
    double batches = static_cast<double>(batch_target_max_ns);
    if (rate_ > 0) {
        batches = std::min(batches, static_cast<double>(batches_allowed * batch_bytes) / rate_);
    }
    allowed_ = base_target_ns + static_cast<Time>(batches);
}

// WIRE-62
bool CongestionDelay::judge_delay(const CongestionSample& sample) noexcept {
    const double delay = static_cast<double>(round_.least_rtt);
    const double target = static_cast<double>(target_ns());
    const double queued =
        static_cast<double>(round_.least_rtt - std::min(round_.least_rtt, least_rtt_));
    if (queued > far_below * static_cast<double>(allowed_)) is_slow_start_ = false;
    if (delay <= target) return false;
    reduce(sample.now, std::max(delay_factor_min, 1 - delay_gain * (delay - target) / delay));
    was_reduced_by_loss_ = false;
    return true;
}

// WIRE-64
bool CongestionDelay::judge_marks(const CongestionSample& sample) noexcept {
    if (round_.acked == 0) return false;
    const double share =
        std::min(1.0, static_cast<double>(round_.marked) / static_cast<double>(round_.acked));
    marked_ += (share - marked_) * mark_gain;
    if (round_.marked == 0) return false;
    is_slow_start_ = false;
    reduce(sample.now, 1 - marked_ / 2);
    was_reduced_by_loss_ = false;
    return true;
}

// WIRE-63
void CongestionDelay::judge_loss(const CongestionSample& sample) noexcept {
    losses_.all += sample.acked + sample.lost;
    losses_.lost += sample.lost;
    if (sample.lost != 0) {
        is_slow_start_ = false;
        const double queued = static_cast<double>(latest_rtt_ - std::min(latest_rtt_, least_rtt_));
        const bool is_late = queued > near_target * static_cast<double>(allowed_);
        const bool is_much = losses_.lost >= loss_min &&
                             losses_.lost >= loss_share * static_cast<double>(losses_.all);
        if ((is_late || is_much) && sample.newest_lost_sent >= reduced_at_) {
            reduce(sample.now, loss_factor);
            was_reduced_by_loss_ = true;
        }
    }
    if (losses_.all >= loss_memory) {
        losses_.all /= 2;
        losses_.lost /= 2;
    }
}

void CongestionDelay::grow() noexcept {
    if (is_slow_start_ || !round_.is_window_limited || round_.least_rtt == never) return;
    const double queued =
        static_cast<double>(round_.least_rtt - std::min(round_.least_rtt, least_rtt_));
    const double one = datagram_;
    double more = one;
    if (queued < far_below * static_cast<double>(allowed_)) {
        more = std::max(one, window_ * growth_far_below);
    }
    // a window of less than a few datagrams grows by its own measure
    window_ += std::min(more, std::max(window_ / 2, one * slowest));
    limit_window();
}

// WIRE-65
void CongestionDelay::drain_when_due(const CongestionSample& sample) noexcept {
    const Time now = sample.now;
    if (!is_draining_) {
        const Time since = std::max(sample.least_seen_at, drained_at_);
        const bool is_due = since + drain_after_ns <= now && round_.is_window_limited;
        if (!is_due || sample.sent == never) return;
        is_draining_ = true;
        drained_at_ = never;
        return;
    }
    if (drained_at_ == never) {
        if (sample.in_flight > std::uint64_t{drained_datagrams} * datagram_) return;
        drained_at_ = now;  // from now on what is sent finds nothing of ours before it
        return;
    }
    if (sample.sent != never && sample.sent > drained_at_) {
        is_draining_ = false;
        drained_at_ = now;
    }
}

void CongestionDelay::reduce(Time now, double factor) noexcept {
    before_reduction_ = window_;
    window_ *= factor;
    reduced_at_ = now;
    is_slow_start_ = false;
    limit_window();
}

void CongestionDelay::limit_window() noexcept {
    window_ = std::clamp(window_, datagram_ * slowest, static_cast<double>(window_max));
}

void CongestionDelay::on_silence() noexcept {
    window_ = static_cast<double>(floor_datagrams) * datagram_;
    was_reduced_by_loss_ = false;
    is_slow_start_ = true;
    is_draining_ = false;
    if (drained_at_ == never) drained_at_ = 0;
    losses_ = LossCount{};
}

void CongestionDelay::on_spurious() noexcept {
    if (!was_reduced_by_loss_) return;
    was_reduced_by_loss_ = false;
    window_ = std::max(window_, before_reduction_);
}

// WIRE-60
std::uint64_t CongestionDelay::window_bytes() const noexcept {
    if (is_draining_) return std::uint64_t{drained_datagrams} * datagram_;
    return std::max(static_cast<std::uint64_t>(window_),
                    std::uint64_t{floor_datagrams} * datagram_);
}

std::uint64_t CongestionDelay::pacing_window_bytes() const noexcept {
    return is_draining_ ? window_bytes() : static_cast<std::uint64_t>(window_);
}

}  // namespace acp::datagram
