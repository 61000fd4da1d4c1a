// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the ranks that share a queue and their driver. Standard layout; zeros are
// valid.
#pragma once

#include <atomic>
#include <cstdint>
#include <sys/types.h>

namespace acp::queue_test {

inline constexpr int ranks_max = 4;
inline constexpr std::uint32_t tasks_each = 6'000;

// Writer: the rank, except of `done`.
struct WorkerNote {
    std::atomic<pid_t> process;
    std::atomic<std::uint32_t> pushed;  // tasks whose push has returned
    // The rank has found the queue empty after the last push.
    std::atomic<std::uint32_t> is_leaving;
    std::atomic<std::uint32_t> wrong;        // wrong results; the rank has printed them
    std::atomic<std::uint64_t> blocks_left;  // final blocks of the queue's heap; writer: rank 0
    std::atomic<std::uint8_t>
        done[tasks_each];  // how often each of its tasks was taken, by any rank
};

struct QueueBoard {
    std::int32_t victim;  // writer: the driver, before the job
    // Else it is only stopped for a while; writer: the driver, before the job.
    std::int32_t is_killed;
    std::atomic<std::uint32_t> is_struck;  // writer: the driver
    std::atomic<std::uint64_t> queue;      // its address; writer: the first rank
    WorkerNote ranks[ranks_max];
};

}  // namespace acp::queue_test
