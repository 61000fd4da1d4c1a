// SPDX-License-Identifier: BSD-3-Clause
// What a round trip says about others. One thread.
#include "datagram/rival_detector.hpp"

#include <algorithm>

namespace acp::datagram {

namespace {

constexpr double window_fallen = 1.0 / 8;
constexpr double rate_kept = 0.8;  // of what it was: then we have the link alone, or with our like
constexpr std::uint32_t rounds_per_loss = 4;
constexpr Time new_base_after_ns = 10'000'000'000;

Time queue_of(const RivalDetector::Round& round) noexcept {
    return round.least_rtt_ns - std::min(round.least_rtt_ns, round.base_rtt_ns);
}

Time room_of(const RivalDetector::Round& round) noexcept {
    return round.target_ns - std::min(round.target_ns, round.base_rtt_ns);
}

}  // namespace

RivalDetector::Verdict RivalDetector::on_round(const Round& round) noexcept {
    new_base_ = never;
    if (is_trying_) return try_out(round);
    return is_found_ ? look_on(round) : look_for(round);
}

void RivalDetector::note_before(const Round& round) noexcept {
    window_before_ = round.window;
    rate_before_ = round.rate;
    queue_before_ = queue_of(round);
    rounds_ = 0;
}

RivalDetector::Verdict RivalDetector::look_for(const Round& round) noexcept {
    const Time queue = queue_of(round);
    const Time room = room_of(round);
    if (queue < room / 2) rounds_ = 0;
    if (queue <= room + room / 4) {
        rounds_ -= std::min(rounds_, 1U);
        return Verdict::as_before;
    }
    if (rounds_ == 0) note_before(round);
    // Who gives way loses nothing where all do: the queue is full, and was filled by others.
    rounds_ += round.has_lost ? rounds_per_loss : 1;
    const bool is_sure = rounds_ >= rounds_sure && round.window <= window_before_ * window_fallen &&
                         queue > queue_before_ / 2;
    if (rounds_ < rounds_suspected && !is_sure) return Verdict::as_before;
    hold_ = std::clamp(hold_rounds * round.least_rtt_ns, hold_min_ns, hold_max_ns);
    found_at_ = round.now;
    least_ = round.least_rtt_ns;
    return find(round);
}

RivalDetector::Verdict RivalDetector::find(const Round& round) noexcept {
    is_found_ = true;
    is_trying_ = false;
    tried_at_ = round.now;
    rounds_ = 0;
    return Verdict::found;
}

RivalDetector::Verdict RivalDetector::look_on(const Round& round) noexcept {
    least_ = std::min(least_, round.least_rtt_ns);
    rounds_ = queue_of(round) < room_of(round) / 2 ? rounds_ + 1 : 0;
    if (rounds_ >= relieved_rounds) {
        is_found_ = false;
        rounds_ = 0;
        return Verdict::gone;
    }
    // With a loss, for then all who share the queue are likely to have one, and those of our kind try together.
    const Time since = round.now - tried_at_;
    if (since < hold_ || (!round.has_lost && since < 2 * hold_)) return Verdict::as_before;
    note_before(round);
    is_found_ = false;
    is_trying_ = true;
    return Verdict::trying;
}

RivalDetector::Verdict RivalDetector::try_out(const Round& round) noexcept {
    least_ = std::min(least_, round.least_rtt_ns);
    ++rounds_;
    if (queue_of(round) > room_of(round) && rounds_ < trial_rounds) return Verdict::as_before;
    if (queue_of(round) <= std::max(room_of(round), queue_before_ / 2) &&
        round.rate >= rate_kept * rate_before_) {
        is_trying_ = false;
        rounds_ = 0;
        return Verdict::gone;
    }
    hold_ = std::min(2 * hold_, hold_max_ns);
    if (round.now - found_at_ >= new_base_after_ns) {
        new_base_ = least_;
        found_at_ = round.now;
        least_ = round.least_rtt_ns;
    }
    return find(round);
}

}  // namespace acp::datagram
