// SPDX-License-Identifier: BSD-3-Clause
// Counts the rounds and drains in which the delay was too long. One thread.
#include "datagram/rival_detector.hpp"

#include <algorithm>

namespace acp::datagram {

bool RivalDetector::find(Time now, Time rtt_ns) noexcept {
    late_rounds_ = 0;
    believed_until_ = now + belief_rounds * rtt_ns;
    return true;
}

bool RivalDetector::on_round(Time now, Time least_rtt_ns, bool is_late, double window) noexcept {
    if (!is_late) {
        was_calm_ = drains_ == drains_min;
        late_rounds_ = 0;
        before_ = 0;
        return false;
    }
    if (!is_long_path() || !was_calm_) return false;
    // As long as the window is still large, the delay may be our own queue.
    before_ = std::max(before_, window);
    if (window > window_share * before_) return false;
    return ++late_rounds_ >= late_rounds_min && find(now, least_rtt_ns);
}

bool RivalDetector::on_drain(Time now, Time least_rtt_ns) noexcept {
    drains_ = std::min(drains_ + 1, drains_min);
    if (!is_of_others(least_rtt_ns) || drains_ < drains_min) {
        late_drains_ = 0;
        return false;
    }
    late_drains_ = std::min(late_drains_ + 1, late_drains_min);
    return late_drains_ == late_drains_min && find(now, least_rtt_ns);
}

void RivalDetector::forget() noexcept {
    const Time shortest = shortest_ns_;
    *this = RivalDetector{};
    shortest_ns_ = shortest;
}

}  // namespace acp::datagram
