// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the driver and ranks that part and die. Zeros are its valid initial state.
// Writers: each rank its own note; rank 0 is_over.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int parting_ranks = 3;

struct PartingNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> has_freed;  // the rank has freed its end of the channel
    char message[480];                    // the first failure
};

struct PartingBoard {
    std::atomic<std::int32_t> is_over;
    PartingNote ranks[parting_ranks];
};

}  // namespace acp::test
