// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the driver of kills and the ranks that exchange PM messages. Zeros are its
// valid initial state. Writers: each rank its own note; the driver the other fields.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int pm_ranks = 4;

struct PmNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> is_at_work;
    // When a call first returned ACP_ERR_PEER; by support/clock.hpp.
    std::atomic<std::int64_t> told_at_ns;
    // The first failure.
    char message[480];
};

struct PmBoard {
    [[nodiscard]] static bool is_at_work(const PmNote& note) {
        return note.is_at_work.load(std::memory_order_acquire) != 0;
    }

    // A rank; set before the ranks start.
    std::atomic<std::int32_t> victim;
    PmNote ranks[pm_ranks];
};

}  // namespace acp::test
