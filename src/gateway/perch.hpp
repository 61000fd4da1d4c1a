// SPDX-License-Identifier: BSD-3-Clause
// Decides when the gateway's thread of an emulated node is pinned to a CPU. The kernel may put the
// gateways of two emulated nodes on one core and all ranks on the other: its load is balanced, but
// copies take twice as long and some ranks get a third less than others. So each busy gateway is
// pinned to a CPU of its own. When a poll comes late, because another thread computes on that CPU,
// the gateway is unpinned for a while, each time twice as long up to a bound. Pure; one thread.
// Figures: ADR 0012. Tests: tests/unit/gateway/perch_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "datagram/time.hpp"

namespace acp::gateway {

class Perch {
public:
    // the gateway is busy after so long without a sleep
    static constexpr datagram::Time busy_ns = 2'000'000;
    static constexpr datagram::Time late_ns = 500'000;  // between two polls: a time slice was lost
    static constexpr datagram::Time free_min_ns = 50'000'000;
    static constexpr datagram::Time free_max_ns = 200'000'000;
    // pinned for so long: a late poll was chance
    static constexpr datagram::Time long_stay_ns = 1'000'000'000;

    //   is_shared   whether there are other gateways on this machine
    explicit Perch(bool is_shared) noexcept : is_shared_(is_shared) {}

    // Called after each poll. Whether the thread is to be pinned until the next one.
    [[nodiscard]] bool stays(datagram::Time now) noexcept {
        if (!is_shared_) return false;
        const datagram::Time gap = now - latest_;
        latest_ = now;
        if (slept_) {
            slept_ = false;
            busy_since_ = now;
        } else if (gap >= late_ns) {
            if (stays_) {
                const bool was_long = now - since_ >= long_stay_ns;
                free_ns_ = std::clamp(was_long ? 0 : 2 * free_ns_, free_min_ns, free_max_ns);
            }
            stays_ = false;
            since_ = now;
        }
        if (!stays_ && now - since_ >= free_ns_ && now - busy_since_ >= busy_ns) {
            stays_ = true;
            since_ = now;
        }
        return stays_;
    }

    void note_sleep() noexcept { slept_ = true; }

private:
    bool is_shared_;
    bool stays_ = false;
    bool slept_ = true;
    datagram::Time latest_ = 0;
    datagram::Time busy_since_ = 0;
    datagram::Time since_ = 0;    // when it was pinned, or began to move freely
    datagram::Time free_ns_ = 0;  // for how long it is to move freely
};

}  // namespace acp::gateway
