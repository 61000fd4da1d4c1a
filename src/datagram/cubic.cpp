// SPDX-License-Identifier: BSD-3-Clause
// The reactions of CUBIC to samples, silence and spurious loss. One thread.
#include "datagram/cubic.hpp"

#include <algorithm>

namespace acp::datagram {

Cubic::Cubic(std::uint32_t datagram_bytes) noexcept
    : datagram_(datagram_bytes), window_(static_cast<double>(initial_datagrams) * datagram_bytes) {}

void Cubic::on_sample(const CongestionSample& sample) noexcept {
    datagram_ = sample.datagram_bytes;
    if (round_began_ == 0) round_began_ = std::max<Time>(sample.now, 1);
    const bool has_lost = sample.lost != 0 && sample.newest_lost_sent >= reduced_at_;
    const bool is_marked = sample.marked != 0 && sample.sent != never && sample.sent >= reduced_at_;
    if (has_lost || is_marked) {
        reduce(sample.now);
        return;
    }
    const bool is_limited = static_cast<double>(sample.in_flight + datagram_) >= window_ * 0.75;
    is_round_limited_ |= is_limited;
    if (sample.sent != never) {
        least_ = std::min(least_, sample.rtt_ns);
        round_least_ = std::min(round_least_, sample.rtt_ns);
    }
    if (is_slow_start_ && is_limited) {
        window_ = std::min(window_ + static_cast<double>(sample.acked_bytes),
                           static_cast<double>(window_max));
    }
    // A datagram sent in this round was acknowledged, so the round is over.
    if (sample.sent != never && sample.sent >= round_began_) end_round(sample);
}

void Cubic::end_round(const CongestionSample& sample) noexcept {
    if (is_slow_start_) {
        const Time allowed = std::max(slow_start_delay_min_ns, least_ / 8);
        if (round_least_ != never && round_least_ > least_ + allowed) {
            is_slow_start_ = false;
            curve_.begin(window_ / datagram_, window_ / datagram_);
        }
    } else if (is_round_limited_) {
        const double one = datagram_;
        window_ = curve_.grow(sample.now, sample.smoothed_rtt_ns, window_ / one) * one;
        window_ = std::min(window_, static_cast<double>(window_max));
    }
    round_began_ = std::max<Time>(sample.now, 1);
    round_least_ = never;
    is_round_limited_ = false;
}

void Cubic::reduce(Time now) noexcept {
    window_before_ = window_;
    window_ =
        std::max(window_ * CubicCurve::beta, static_cast<double>(floor_datagrams) * datagram_);
    curve_.begin(window_before_ / datagram_, window_ / datagram_);
    reduced_at_ = now;
    is_slow_start_ = false;
}

void Cubic::on_silence() noexcept {
    window_ = static_cast<double>(floor_datagrams) * datagram_;
    window_before_ = 0;
    is_slow_start_ = true;
    curve_.end();
}

void Cubic::on_spurious() noexcept {
    if (window_before_ == 0) return;
    window_ = std::max(window_, window_before_);
    window_before_ = 0;
}

}  // namespace acp::datagram
