// SPDX-License-Identifier: BSD-3-Clause
// What all parts of a router share of the call under way: its time, the counters, whether it has moved anything, and when
// the next scan for what is overdue is due. The router sets the time in each call that has one; any part may arm the scan and
// count. Knows no other part. One thread.
#pragma once

#include <cstdint>

#include "router/counters.hpp"
#include "router/surroundings.hpp"

namespace acp::router {

inline constexpr Time scan_ns = 500'000'000;  // ORD-31: overdue after one to two of these

class Activity {
public:
    void set_now(Time now) noexcept { now_ = now; }

    [[nodiscard]] Time now() const noexcept { return now_; }

    [[nodiscard]] RouterCounters& counters() noexcept { return counters_; }

    [[nodiscard]] const RouterCounters& counters() const noexcept { return counters_; }

    // Something was done, which a turn reports.
    void note_move() noexcept { ++moves_; }

    [[nodiscard]] std::uint64_t moves() const noexcept { return moves_; }

    // Something is under way that may be overdue one day: there is a scan within scan_ns.
    void arm_scan() noexcept {
        if (scan_at_ == datagram::never) scan_at_ = now_ + scan_ns;
    }

    [[nodiscard]] Time scan_at() const noexcept { return scan_at_; }

    // From 1; the scan that is under way, or the last one.
    [[nodiscard]] std::uint32_t scan_number() const noexcept { return scan_number_; }

    // While a scan is under way, arming has no effect.
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
