// SPDX-License-Identifier: BSD-3-Clause
// The state that all parts of a router share: the time of the present call, the counters, whether a
// step was made, and the time of the next scan for overdue commands. The router sets the time in
// each call that has one; any part may count and arm the scan. Knows no other part. One thread.
#pragma once

#include <cstdint>

#include "router/counters.hpp"
#include "router/surroundings.hpp"

namespace acp::router {

inline constexpr Time scan_ns = 500'000'000;  // ORD-31: a command is overdue after one to two scans

class Activity {
public:
    void set_now(Time now) noexcept { now_ = now; }

    [[nodiscard]] Time now() const noexcept { return now_; }

    [[nodiscard]] RouterCounters& counters() noexcept { return counters_; }

    [[nodiscard]] const RouterCounters& counters() const noexcept { return counters_; }

    // Notes that a frame was written, an access settled or a command completed; Router::poll()
    // reports it.
    void note_move() noexcept { ++moves_; }

    [[nodiscard]] std::uint64_t moves() const noexcept { return moves_; }

    // Call when work begins that may become overdue: the next scan comes within scan_ns.
    void arm_scan() noexcept {
        if (scan_at_ == datagram::never) scan_at_ = now_ + scan_ns;
    }

    [[nodiscard]] Time scan_at() const noexcept { return scan_at_; }

    // The number of the scan in progress, or of the last one; begins at 1.
    [[nodiscard]] std::uint32_t scan_number() const noexcept { return scan_number_; }

    // Between these two calls arm_scan() has no effect.
    void begin_scan() noexcept { ++scan_number_; }

    void end_scan() noexcept { scan_at_ = datagram::never; }

private:
    Time now_ = 0;
    Time scan_at_ = datagram::never;
    std::uint64_t moves_ = 0;
    std::uint32_t scan_number_ = 1;
    RouterCounters counters_;
};

}  // namespace acp::router
