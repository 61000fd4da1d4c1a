// SPDX-License-Identifier: BSD-3-Clause
// The reactions of NewReno to samples, silence and spurious loss. One thread.
#include "datagram/new_reno.hpp"

#include <algorithm>

namespace acp::datagram {

NewReno::NewReno(std::uint32_t datagram_bytes) noexcept
    : datagram_(datagram_bytes), window_(std::uint64_t{initial_datagrams} * datagram_bytes) {}

void NewReno::on_sample(const CongestionSample& sample) noexcept {
    datagram_ = sample.datagram_bytes;
    if (sample.lost != 0 && sample.newest_lost_sent >= reduced_at_) {
        reduce(sample.now);
        return;
    }
    if (sample.marked != 0 && sample.sent != never && sample.sent >= reduced_at_) {
        reduce(sample.now);
        return;
    }
    // The window did not limit the sender, so it does not grow (RFC 9002, 7.8).
    if (sample.in_flight + datagram_ < window_ / 4 * 3) return;
    if (is_slow_start()) {
        window_ = std::min(window_ + sample.acked_bytes, window_max);
        return;
    }
    acked_ += sample.acked_bytes;
    if (acked_ >= window_) {
        acked_ -= window_;
        window_ = std::min<std::uint64_t>(window_ + datagram_, window_max);
    }
}

void NewReno::reduce(Time now) noexcept {
    window_before_ = window_;
    threshold_before_ = threshold_;
    window_ = std::max(window_ / 2, std::uint64_t{floor_datagrams} * datagram_);
    threshold_ = window_;
    reduced_at_ = now;
    acked_ = 0;
}

void NewReno::on_silence() noexcept {
    threshold_ = std::max(window_ / 2, std::uint64_t{floor_datagrams} * datagram_);
    window_ = std::uint64_t{floor_datagrams} * datagram_;
    window_before_ = 0;
}

void NewReno::on_spurious() noexcept {
    if (window_before_ == 0) return;
    window_ = std::max(window_, window_before_);
    threshold_ = std::max(threshold_, threshold_before_);
    window_before_ = 0;
}

}  // namespace acp::datagram
