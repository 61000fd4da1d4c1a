// SPDX-License-Identifier: BSD-3-Clause
// Updates the RTT averages and the windowed minimum. One thread.
#include "datagram/rtt_estimator.hpp"

#include <algorithm>

namespace acp::datagram {

// WIRE-48
void RttEstimator::sample(Time now, Time sent, Time delay_ns) noexcept {
    const Time raw = now - std::min(now, sent);
    const Time delay = std::min(delay_ns, delay_max_ns);
    // 0 is not a valid RTT: it stands for "not measured" elsewhere.
    latest_ = std::max<Time>(1, delay < raw ? raw - delay : raw);
    note_least(now, latest_);
    if (!has_sample_) {
        has_sample_ = true;
        smoothed_ = latest_;
        variation_ = latest_ / 2;
        return;
    }
    const Time deviation = smoothed_ > latest_ ? smoothed_ - latest_ : latest_ - smoothed_;
    variation_ = (3 * variation_ + deviation) / 4;
    smoothed_ = (7 * smoothed_ + latest_) / 8;
}

void RttEstimator::note_least(Time now, Time raw) noexcept {
    const std::uint64_t number = now / part_ns;
    Part& part = parts_[number % parts];
    if (part.number != number || part.least >= raw) part = Part{number, raw, now};
    least_ = never;
    for (const Part& other : parts_) {
        if (other.number + parts > number && other.least <= least_) {
            least_ = other.least;
            least_seen_ = other.seen;
        }
    }
}

}  // namespace acp::datagram
