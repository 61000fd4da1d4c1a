// SPDX-License-Identifier: BSD-3-Clause
// What the driver of ranks that part and die, and those ranks tell each other. Zero is the valid beginning. Writers: each rank its own note;
// rank 0 is_over.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int parting_ranks = 3;

struct PartingNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> has_freed;  // its end of the channel
    char message[480];                    // of the first thing that was wrong
};

struct PartingBoard {
    std::atomic<std::int32_t> is_over;
    PartingNote ranks[parting_ranks];
};

}  // namespace acp::test
