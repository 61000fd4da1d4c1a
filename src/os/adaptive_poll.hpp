// SPDX-License-Identifier: BSD-3-Clause
// Polls before a thread sleeps, for a time that follows how often polls succeed: as long as a sleep
// and its wake take while they do, and a few microseconds where they do not, as on a machine with
// more running threads than CPUs. Does not yield the CPU: a thread that yields waits until other
// running threads have used up their time slices, and one that sleeps is preferred when it is
// woken. One thread.
// Tests: tests/unit/os/brief_poll_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "os/brief_poll.hpp"

namespace acp::os {

class AdaptivePoll {
public:
    // Returns whether ready() became true.
    template <typename Ready>
    [[nodiscard]] bool poll(const Ready& ready) {
        // Now and then for the whole time, since what is awaited may have become faster.
        const bool is_trial = ++polls_ % polls_per_trial == 0;
        const std::uint64_t limit = is_trial ? brief_poll_ns : limit_ns_;
        constexpr int polls_per_reading = 50;
        const std::uint64_t start = now_ns();
        do {
            for (int i = 0; i < polls_per_reading; ++i) {
                if (ready()) {
                    limit_ns_ = std::min(limit_ns_ * 2, brief_poll_ns);
                    return true;
                }
                relax();
            }
        } while (now_ns() - start < limit);
        limit_ns_ = std::max(limit_ns_ / 2, least_ns);
        return ready();
    }

    // How long the next poll lasts, but for trials.
    [[nodiscard]] std::uint64_t limit_ns() const noexcept { return limit_ns_; }

    static constexpr std::uint64_t least_ns = 4'000;
    static constexpr std::uint32_t polls_per_trial = 16;

private:
    std::uint64_t limit_ns_ = brief_poll_ns;
    std::uint32_t polls_ = 0;
};

}  // namespace acp::os
