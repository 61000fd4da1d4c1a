// SPDX-License-Identifier: BSD-3-Clause
// Delay-based congestion control: reactions to each acknowledgement and at the end of each round.
// One thread.
#include "datagram/congestion_delay.hpp"

#include <algorithm>
#include <cmath>

namespace acp::datagram {

namespace {

constexpr double delay_gain = 0.8;          // window reduction per relative excess of delay
constexpr double delay_factor_min = 0.5;    // so the window is at most halved per round
constexpr double far_below = 0.5;           // below this fullness() the path has spare room
constexpr double growth_far_below = 0.125;  // growth in that case: share of the window, per round
constexpr double loss_usual = 0.01;         // share of datagrams that random loss may take
constexpr std::uint32_t loss_memory = 512;  // datagrams over which the loss rate is estimated
constexpr double mark_gain = 1.0 / 16;      // DCTCP's g: weight of the newest round in alpha
// A queue stands when the RTT exceeds the minimum by standing_min_ns or by 1 / standing_share of
// it, whichever is more. Then loss is taken for congestion.
constexpr Time standing_min_ns = 20'000;
constexpr Time standing_share = 8;
constexpr Time drain_hold_max_ns = 5'000'000;   // longest time that a drained path is kept empty
constexpr std::uint32_t drained_datagrams = 2;  // in flight while the minimum RTT is measured
constexpr double slowest = 1.0 / 8;  // minimum window in datagrams; the pacer enforces it

}  // namespace

CongestionDelay::CongestionDelay(std::uint32_t datagram_bytes) noexcept
    : datagram_(datagram_bytes), window_(static_cast<double>(initial_datagrams) * datagram_bytes) {}

void CongestionDelay::on_sample(const CongestionSample& sample) noexcept {
    datagram_ = sample.datagram_bytes;
    if (round_.began == 0) round_.began = std::max<Time>(sample.now, 1);
    // Whether the window limited the sender. Otherwise the sample says nothing about a larger
    // window.
    const bool is_limited = static_cast<double>(sample.in_flight + datagram_) >=
                            window_ * (is_slow_start_ ? 0.5 : 0.75);
    round_.acked_bytes += sample.acked_bytes;
    round_.acked += sample.acked;
    round_.marked += sample.marked;
    round_.is_window_limited |= is_limited;
    if (sample.sent != never) {
        round_.least_rtt = std::min(round_.least_rtt, sample.rtt_ns);
        latest_rtt_ = sample.rtt_ns;
        note_least(sample);
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
    set_target();
    // The window changes at most once per round.
    const bool was_reduced = reduced_at_ > round_.began;
    if (!is_draining_ && !was_reduced && !judge_marks(sample) && !judge_delay(sample)) grow(sample);
    round_ = Round{};
    round_.began = std::max<Time>(sample.now, 1);
}

// WIRE-61: the target has a term that falls with the square root of the window, so that small
// windows tolerate more delay than large ones and flows converge to equal shares (Swift, 3.5).
void CongestionDelay::set_target() noexcept {
    const double scaled =
        static_cast<double>(scale_ns) * std::sqrt(static_cast<double>(scale_bytes) / window_);
    const Time least = least_rtt_ == never ? 0 : least_rtt_;
    const Time extra = std::max(long_path_extra_ns, least / long_path_share);
    target_ = std::max(short_path_target_ns, least + extra) +
              std::min(scale_max_ns, static_cast<Time>(scaled));
}

double CongestionDelay::fullness(Time rtt_ns) const noexcept {
    if (least_rtt_ == never) return 0;
    const double above = static_cast<double>(rtt_ns) - static_cast<double>(least_rtt_);
    return above / static_cast<double>(target_ - least_rtt_);
}

// WIRE-62: one reduction per round, in proportion to the excess over the target. Returns whether
// the window was reduced.
bool CongestionDelay::judge_delay(const CongestionSample& sample) noexcept {
    const double delay = static_cast<double>(round_.least_rtt);
    const double target = static_cast<double>(target_ns());
    const bool is_late = delay > target;
    const bool was_slow_start = is_slow_start_;
    if (fullness(round_.least_rtt) > far_below) is_slow_start_ = false;
    if (rivals_.has_rivals(sample.now)) return false;
    if (!was_slow_start && rivals_.on_round(sample.now, round_.least_rtt, is_late, window_)) {
        window_ = std::max(window_, rivals_.window_before());
        compete();
        return false;
    }
    if (!is_late) return false;
    curve_.end();
    reduce(sample.now, std::max(delay_factor_min, 1 - delay_gain * (delay - target) / delay));
    was_reduced_by_loss_ = false;
    return true;
}

// Grows the window like that of loss-based rivals from now on.
void CongestionDelay::compete() noexcept {
    if (!curve_.is_active()) curve_.begin(window_ / datagram_, window_ / datagram_);
}

// WIRE-64: reduces by half of the smoothed share of marked datagrams, as DCTCP (RFC 8257). Returns
// whether the window was reduced.
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

bool CongestionDelay::has_queue(Time rtt_ns) const noexcept {
    return least_rtt_ != never &&
           rtt_ns > least_rtt_ + std::max(standing_min_ns, least_rtt_ / standing_share);
}

// WIRE-63: reacts to loss at most once per round trip, and only if there is a queue or the loss is
// too much for chance.
void CongestionDelay::judge_loss(const CongestionSample& sample) noexcept {
    losses_.all += sample.acked + sample.lost;
    losses_.lost += sample.lost;
    if (sample.lost != 0) {
        is_slow_start_ = false;
        const bool is_late = has_queue(latest_rtt_);
        // More than random loss of 1 % explains: more than two datagrams and two and a half
        // standard deviations above the mean.
        const double usual = loss_usual * static_cast<double>(losses_.all);
        const bool is_much = losses_.lost > 2 + usual + 2.5 * std::sqrt(usual);
        if ((is_late || is_much) && sample.newest_lost_sent >= reduced_at_) {
            reduce(sample.now, CubicCurve::beta);
            curve_.begin(before_reduction_ / datagram_, window_ / datagram_);
            losses_ = LossCount{};
            was_reduced_by_loss_ = true;
        }
    }
    if (losses_.all >= loss_memory) {
        losses_.all /= 2;
        losses_.lost /= 2;
    }
}

void CongestionDelay::grow(const CongestionSample& sample) noexcept {
    if (is_slow_start_ || !round_.is_window_limited || round_.least_rtt == never) return;
    const double one = datagram_;
    if (curve_.is_active()) {
        window_ = curve_.grow(sample.now, sample.smoothed_rtt_ns, window_ / one) * one;
        limit_window();
        return;
    }
    const bool is_fast = fullness(round_.least_rtt) < far_below;
    const double more = is_fast ? std::max(one, window_ * growth_far_below) : one;
    // A window below a few datagrams grows in proportion to itself.
    window_ += std::min(more, std::max(window_ / 2, one * slowest));
    limit_window();
}

// WIRE-65: drains the path now and then to measure its minimum RTT afresh. Steps: wait until a
// drain is due; hold the window at drained_datagrams until no more is in flight; keep it there for
// drain_hold_; take the least RTT of the datagrams sent during drain_hold_.
void CongestionDelay::drain_when_due(const CongestionSample& sample) noexcept {
    const Time now = sample.now;
    if (!is_draining_) {
        if (least_rtt_ == never || rivals_.has_rivals(now)) return;
        const Time pause = std::max(drain_pause_ns, drain_pause_rounds * least_rtt_);
        const Time patience =
            std::clamp(patience_rounds * sample.smoothed_rtt_ns, patience_min_ns, patience_max_ns);
        const bool is_due =
            sample.is_drain_asked ? drained_at_ + pause <= now : least_seen_ + patience <= now;
        if (!is_due) return;
        is_draining_ = true;
        emptied_at_ = never;
        drained_least_ = never;
        return;
    }
    if (emptied_at_ == never) {
        // The path is now empty of our own datagrams. After one more round trip it is also empty of
        // those of senders that began to drain at the same time; only then does a sample measure
        // the path without a queue.
        if (sample.in_flight > std::uint64_t{drained_datagrams} * datagram_) return;
        emptied_at_ = now;
        drain_hold_ = std::min(sample.smoothed_rtt_ns, drain_hold_max_ns);
        return;
    }
    if (sample.sent == never || sample.sent < emptied_at_) return;
    drained_least_ = std::min(drained_least_, sample.rtt_ns);
    if (sample.sent < emptied_at_ + drain_hold_) return;
    is_draining_ = false;
    drained_at_ = now;
    least_seen_ = now;
    if (rivals_.on_drain(now, drained_least_)) compete();
    if (!rivals_.is_of_others(drained_least_)) least_rtt_ = drained_least_;
}

// Keeps the minimum RTT. A sample within 1/16 of the minimum confirms it and postpones the next
// drain.
void CongestionDelay::note_least(const CongestionSample& sample) noexcept {
    rivals_.note_round_trip(sample.rtt_ns);
    if (least_rtt_ != never && sample.rtt_ns > least_rtt_ + least_rtt_ / 16) return;
    least_rtt_ = std::min(least_rtt_, sample.rtt_ns);
    least_seen_ = sample.now;
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
    curve_.end();
    rivals_.forget();
    losses_ = LossCount{};
}

void CongestionDelay::on_spurious() noexcept {
    if (!was_reduced_by_loss_) return;
    was_reduced_by_loss_ = false;
    window_ = std::max(window_, before_reduction_);
}

// WIRE-60: never below floor_datagrams, even if window_ is smaller; then the pacer limits the rate.
std::uint64_t CongestionDelay::window_bytes() const noexcept {
    if (is_draining_) return std::uint64_t{drained_datagrams} * datagram_;
    return std::max(static_cast<std::uint64_t>(window_),
                    std::uint64_t{floor_datagrams} * datagram_);
}

std::uint64_t CongestionDelay::pacing_window_bytes() const noexcept {
    return is_draining_ ? window_bytes() : static_cast<std::uint64_t>(window_);
}

}  // namespace acp::datagram
