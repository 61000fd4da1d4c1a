// SPDX-License-Identifier: BSD-3-Clause
// Whether flows that do not give way for delay, as TCP's do not, keep the queue of a path full. A sender that gives way
// alone is starved by them. Two signs show them: the delay stays too long for several rounds although the window
// was reduced to a small part (flows that give way would have emptied the queue by then); or it is too long after the
// path was let run empty of the sender's own datagrams, twice in a row. What was found is believed for a time, then the
// path is looked at again. Flows of one job would take each other for such flows once one of them has
// found some; so only long paths are looked at, where the network belongs to others too.
// None are found before some drains have shown how long the path is: flows that begin together fill its queue as well.
// Knows no clock. One thread.
// Tests: tests/unit/datagram/rival_detector_test.cpp, tests/unit/sim/rival_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class RivalDetector {
public:
    // Of the shortest round trip ever seen: paths from here on are looked at.
    static constexpr Time long_path_ns = 1'000'000;
    // Rivals are found when no more than this part of the window is left and so many rounds are late all the same.
    static constexpr double window_share = 0.25;
    static constexpr std::uint32_t late_rounds_min = 3;
    // Or when so many drains in a row leave a queue longer than the path divided by path_share.
    static constexpr std::uint32_t late_drains_min = 2;
    static constexpr Time path_share = 8;
    // Drains until the queue that flows built when they began is gone; nothing is found before.
    static constexpr std::uint32_t drains_min = 4;
    // How long rivals are believed in, in round trips.
    static constexpr std::uint64_t belief_rounds = 1000;

    void note_round_trip(Time rtt_ns) noexcept {
        if (rtt_ns < shortest_ns_) shortest_ns_ = rtt_ns;
    }

    [[nodiscard]] bool is_long_path() const noexcept {
        return shortest_ns_ != never && shortest_ns_ >= long_path_ns;
    }

    // A round has ended, after slow start. Returns whether rivals were found by it.
    //   least_rtt_ns  its least round trip     is_late  that is above the target
    //   window        before it is reduced for that
    bool on_round(Time now, Time least_rtt_ns, bool is_late, double window) noexcept;

    // The path was empty of the sender's own datagrams. Returns whether rivals were found by it.
    bool on_drain(Time now, Time least_rtt_ns) noexcept;

    // Whether what is left of a queue after a drain is that of others, by the least round trip then: it is well above the
    // shortest of a long path.
    [[nodiscard]] bool is_of_others(Time least_rtt_ns) const noexcept {
        return is_long_path() && least_rtt_ns > shortest_ns_ + shortest_ns_ / path_share;
    }

    // Whether rivals are believed to be there.
    [[nodiscard]] bool has_rivals(Time now) const noexcept { return now < believed_until_; }

    // The largest window since the delay became too long.
    [[nodiscard]] double window_before() const noexcept { return before_; }

    // A silence has ended: nothing is known of who else sends. The length of the path is.
    void forget() noexcept;

private:
    bool find(Time now, Time rtt_ns) noexcept;

    Time shortest_ns_ = never;
    Time believed_until_ = 0;
    double before_ = 0;
    std::uint32_t late_rounds_ = 0;  // since the window is small
    std::uint32_t late_drains_ = 0;
    std::uint32_t drains_ = 0;  // counted up to drains_min
    bool was_calm_ =
        false;  // since then a round was not late: what follows is not the start's own queue
};

}  // namespace acp::datagram
