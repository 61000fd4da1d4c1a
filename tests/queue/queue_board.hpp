// SPDX-License-Identifier: BSD-3-Clause
// What the ranks that share a queue and their driver tell each other. Standard layout; zero is valid.
#pragma once

#include <atomic>
#include <cstdint>
#include <sys/types.h>

namespace acp::queue_test {

inline constexpr int ranks_max = 4;
inline constexpr std::uint32_t tasks_each = 6'000;

// Writer: the rank, but of `done`.
struct WorkerNote {
    std::atomic<pid_t> process;
    std::atomic<std::uint32_t> pushed;      // tasks whose push has returned
    std::atomic<std::uint32_t> is_leaving;  // has found the queue empty, and nobody pushes any more
    std::atomic<std::uint32_t> wrong;       // whatever must not be; the rank has said it
    std::atomic<std::uint64_t> blocks_left;  // in the heap of the queue, at last; the first rank
    std::atomic<std::uint8_t>
        done[tasks_each];  // how often each of its tasks was taken, by anybody
};

struct QueueBoard {
    std::int32_t victim;                   // writer: the driver, before the job
    std::int32_t is_killed;                // the same; else it is only stopped for a while
    std::atomic<std::uint32_t> is_struck;  // writer: the driver
    std::atomic<std::uint64_t> queue;      // its address; writer: the first rank
    WorkerNote ranks[ranks_max];
};

}  // namespace acp::queue_test
