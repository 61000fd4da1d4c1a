// SPDX-License-Identifier: BSD-3-Clause
// The reactions of the TCP model. One thread.
#include "sim/tcp_cubic.hpp"

#include <algorithm>
#include <cmath>

#include "datagram/time.hpp"

namespace acp::sim {

namespace {

constexpr double window_min = 2;
constexpr double friendly_growth = 3 * (1 - TcpCubic::beta) / (1 + TcpCubic::beta);
constexpr double growth_max = 1.5;  // largest growth factor per round trip
constexpr std::uint32_t hystart_samples = 8;
constexpr Time hystart_least_ns = 4'000'000;
constexpr Time hystart_most_ns = 16'000'000;

}  // namespace

std::uint64_t TcpCubic::room() const noexcept {
    const auto window = static_cast<std::uint64_t>(window_);
    return window - std::min<std::uint64_t>(window, in_flight_.size());
}

std::uint64_t TcpCubic::send(Time now) {
    const Time timeout = std::max(timeout_min_ns, smoothed_rtt_ + 4 * rtt_variation_);
    if (in_flight_.empty()) deadline_ = now + timeout;
    in_flight_.push_back({next_, now});
    return next_++;
}

void TcpCubic::on_ack(Time now, std::uint64_t number) {
    bool has_lost = false;
    while (!in_flight_.empty() && in_flight_.front().number + overtaken_by <= number) {
        has_lost |= in_flight_.front().number >= recovery_end_;
        in_flight_.pop_front();
    }
    const auto acked =
        std::find_if(in_flight_.begin(), in_flight_.end(),
                     [number](const SentSegment& segment) { return segment.number == number; });
    if (acked == in_flight_.end()) return;  // a timeout has given it up already
    const Time rtt = now - acked->sent;
    in_flight_.erase(acked);
    sample(now, rtt);
    const bool is_recovering = number < recovery_end_;
    if (has_lost) {
        reduce();
    } else if (!is_recovering) {
        end_slow_start_by_delay(rtt);
        grow(now);
    }
}

void TcpCubic::sample(Time now, Time rtt) noexcept {
    if (smoothed_rtt_ == 0) {
        smoothed_rtt_ = rtt;
        rtt_variation_ = rtt / 2;
    } else {
        const Time deviation = rtt > smoothed_rtt_ ? rtt - smoothed_rtt_ : smoothed_rtt_ - rtt;
        rtt_variation_ = (3 * rtt_variation_ + deviation) / 4;
        smoothed_rtt_ = (7 * smoothed_rtt_ + rtt) / 8;
    }
    least_rtt_ = std::min(least_rtt_, rtt);
    const Time timeout = std::max(timeout_min_ns, smoothed_rtt_ + 4 * rtt_variation_);
    deadline_ = in_flight_.empty() ? datagram::never : now + timeout;
}

void TcpCubic::end_slow_start_by_delay(Time rtt) noexcept {
    if (!is_slow_start() || in_flight_.empty()) return;
    if (in_flight_.front().number >= round_end_) {
        round_end_ = next_;
        round_least_rtt_ = ~Time{0};
        round_samples_ = 0;
    }
    round_least_rtt_ = std::min(round_least_rtt_, rtt);
    if (++round_samples_ != hystart_samples) return;
    const Time allowed = std::clamp(least_rtt_ / 8, hystart_least_ns, hystart_most_ns);
    if (round_least_rtt_ >= least_rtt_ + allowed) threshold_ = window_;
}

void TcpCubic::grow(Time now) noexcept {
    if (is_slow_start()) {
        window_ += 1;
        return;
    }
    if (epoch_ == 0) {
        epoch_ = std::max<Time>(now, 1);
        epoch_window_ = friendly_window_ = window_;
        window_max_ = std::max(window_max_, window_);
        reached_at_ = std::cbrt((window_max_ - window_) / aggressiveness);
    }
    const double t = static_cast<double>(now + smoothed_rtt_ - epoch_) / 1e9 - reached_at_;
    const double target =
        std::clamp(aggressiveness * t * t * t + window_max_, window_, growth_max * window_);
    friendly_window_ += (friendly_window_ < window_max_ ? friendly_growth : 1) / window_;
    window_ += (target - window_) / window_;
    window_ = std::max(window_, friendly_window_);
}

void TcpCubic::reduce() noexcept {
    // Fast convergence (RFC 9438, 4.7): a flow that lost segments at a smaller window than the last
    // time leaves room for new flows.
    window_max_ = window_ < window_max_ ? window_ * (1 + beta) / 2 : window_;
    window_ = std::max(window_min, window_ * beta);
    threshold_ = window_;
    epoch_ = 0;
    recovery_end_ = next_;
}

void TcpCubic::on_timeout(Time now) {
    if (in_flight_.empty() || now < deadline_) return;
    in_flight_.clear();
    reduce();
    window_ = 1;
    deadline_ = datagram::never;
}

}  // namespace acp::sim
