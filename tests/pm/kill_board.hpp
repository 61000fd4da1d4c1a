// SPDX-License-Identifier: BSD-3-Clause
// What the driver of kills and the ranks that exchange PM messages tell each other. Zero is the valid beginning. Writers: each rank its own
// note; the driver the rest.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int pm_ranks = 4;

struct PmNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> is_at_work;
    std::atomic<std::int64_t> told_at_ns;  // when a call told of the victim; of support/clock.hpp
    char message[480];                     // of the first thing that was wrong
};

struct PmBoard {
    [[nodiscard]] static bool is_at_work(const PmNote& note) {
        return note.is_at_work.load(std::memory_order_acquire) != 0;
    }

    std::atomic<std::int32_t> victim;  // a rank; set before the ranks begin
    std::atomic<std::int32_t> scheme;  // as of acp_open_pm_scheme; likewise
    PmNote ranks[pm_ranks];
};

}  // namespace acp::test
