// SPDX-License-Identifier: BSD-3-Clause
// Whether the delay of a path is others' doing: flows that fill the queue until it overflows, as TCP's do, or a path
// that has become longer. Then giving way is of no use: who reduces its window for delay loses all, and the delay
// remains. It is taken for so when the delay stays above the target although the window was reduced again and again.
// From time to time it is tried again whether the delay goes when we give way, and our rate does not go with it.
// Told once per round trip. Knows no clock. One thread.
// Tests: tests/unit/datagram/rival_detector_test.cpp; tests/unit/sim/rival_test.cpp.
#pragma once

#include <cstdint>

#include "datagram/time.hpp"

namespace acp::datagram {

class RivalDetector {
public:
    static constexpr std::uint32_t rounds_suspected = 12;  // in a row above the target
    static constexpr std::uint32_t rounds_sure = 3;  // where the window fell to an eighth meanwhile
    static constexpr std::uint32_t trial_rounds = 6;
    static constexpr std::uint32_t relieved_rounds = 32;  // without a queue: they are gone
    static constexpr Time hold_min_ns = 500'000'000;      // until it is tried again
    static constexpr Time hold_max_ns = 8'000'000'000;
    static constexpr Time hold_rounds = 100;

    // One round trip.
    struct Round {
        Time now = 0;
        Time least_rtt_ns = 0;  // of the round
        Time base_rtt_ns = 0;   // of the path, as far as is known
        Time target_ns = 0;
        double window = 0;  // bytes
        double rate = 0;    // bytes acknowledged per ns
        bool has_lost = false;
    };

    enum class Verdict : std::uint8_t {
        as_before,
        found,   // from now on delay is no reason to reduce; the window is to be resume_window()
        trying,  // delay counts again, for a trial
        gone     // the trial, or the empty queue, shows that nobody fills it
    };

    Verdict on_round(const Round& round) noexcept;

    // No answers for long: begins anew.
    void reset() noexcept { *this = RivalDetector(); }

    [[nodiscard]] bool is_found() const noexcept { return is_found_; }

    // What the window was before it was reduced in vain.
    [[nodiscard]] double resume_window() const noexcept { return window_before_; }

    // After a trial in vain: the least round trip since they were found, long ago. What was taken for the path's own
    // is then no more. never: not yet
    [[nodiscard]] Time new_base_ns() const noexcept { return new_base_; }

private:
    Verdict look_for(const Round& round) noexcept;
    Verdict look_on(const Round& round) noexcept;
    Verdict try_out(const Round& round) noexcept;
    Verdict find(const Round& round) noexcept;
    void note_before(const Round& round) noexcept;

    double window_before_ = 0;
    double rate_before_ = 0;
    Time queue_before_ = 0;
    Time found_at_ = 0;
    Time tried_at_ = 0;  // when the last trial began or they were found
    Time hold_ = 0;
    Time least_ = never;  // since they were found
    Time new_base_ = never;
    std::uint32_t rounds_ = 0;
    bool is_found_ = false;
    bool is_trying_ = false;
};

}  // namespace acp::datagram
