// SPDX-License-Identifier: BSD-3-Clause
// Detects flows that do not react to delay, as TCP's do not, and keep the queue of a path full. A
// sender that alone reacts to delay is starved by them. Two signs reveal them: the delay stays
// above the target for several rounds although the window was reduced to a small part (flows that
// react to delay would have emptied the queue by then); or twice in a row it is still too long
// after the path was drained of the sender's own datagrams. A detection is believed for a time,
// then the path is judged afresh. Flows of one job would take each other for rivals once one of
// them has found some, so only long paths are judged, where the network belongs to others too.
// Nothing is detected before some drains have shown how long the path is, since flows that begin
// together fill its queue as well. Knows no clock. One thread.
// Tests: tests/unit/datagram/rival_detector_test.cpp, tests/unit/sim/rival_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class RivalDetector {
public:
    // Only paths whose shortest RTT ever is at least this long are judged.
    static constexpr Time long_path_ns = 1'000'000;
    // First sign: no more than window_share of the window is left, and late_rounds_min rounds in a
    // row are late all the same.
    static constexpr double window_share = 0.25;
    static constexpr std::uint32_t late_rounds_min = 3;
    // Second sign: late_drains_min drains in a row leave a queue longer than the path divided by
    // path_share.
    static constexpr std::uint32_t late_drains_min = 2;
    static constexpr Time path_share = 8;
    // Drains after which the queue that flows built when they began is gone; nothing is detected
    // before.
    static constexpr std::uint32_t drains_min = 4;
    // How long a detection is believed, in round trips.
    static constexpr std::uint64_t belief_rounds = 1000;

    // Takes an RTT sample.
    void note_round_trip(Time rtt_ns) noexcept {
        if (rtt_ns < shortest_ns_) shortest_ns_ = rtt_ns;
    }

    [[nodiscard]] bool is_long_path() const noexcept {
        return shortest_ns_ != never && shortest_ns_ >= long_path_ns;
    }

    // A round has ended, after slow start. Returns whether it revealed rivals.
    //   least_rtt_ns  least RTT of the round
    //   is_late       it is above the target
    //   window        bytes, before the reduction for that
    bool on_round(Time now, Time least_rtt_ns, bool is_late, double window) noexcept;

    // The path was drained of the sender's own datagrams. Returns whether this revealed rivals.
    //   least_rtt_ns  least RTT measured then
    bool on_drain(Time now, Time least_rtt_ns) noexcept;

    // Whether the queue left after a drain belongs to other senders: the least RTT is well above
    // the shortest of a long path.
    [[nodiscard]] bool is_of_others(Time least_rtt_ns) const noexcept {
        return is_long_path() && least_rtt_ns > shortest_ns_ + shortest_ns_ / path_share;
    }

    // Whether a detection is still believed.
    [[nodiscard]] bool has_rivals(Time now) const noexcept { return now < believed_until_; }

    // The largest window since the delay became too long, in bytes.
    [[nodiscard]] double window_before() const noexcept { return before_; }

    // Forgets everything but the length of the path: after a silence others may be sending.
    void forget() noexcept;

private:
    bool find(Time now, Time rtt_ns) noexcept;

    Time shortest_ns_ = never;
    Time believed_until_ = 0;
    double before_ = 0;
    std::uint32_t late_rounds_ = 0;  // late rounds in a row since the window is small
    std::uint32_t late_drains_ = 0;
    std::uint32_t drains_ = 0;  // drains so far, counted up to drains_min
    // A round was not late after those drains: a queue that stands later is not the one that flows
    // built when they began.
    bool was_calm_ = false;
};

}  // namespace acp::datagram
