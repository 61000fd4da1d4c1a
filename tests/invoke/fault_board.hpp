// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the ranks of a job under fault and their driver. Standard layout; zeros are
// valid.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace acp::invoke_test {

inline constexpr int ranks_max = 8;
inline constexpr std::size_t batch = 48;  // invocations that a rank has in flight

enum class Phase : std::uint32_t { none, working, finished };

// Writer: the rank.
struct Note {
    std::atomic<pid_t> process;
    std::atomic<pid_t> parent;
    std::atomic<Phase> phase;
    std::atomic<std::uint64_t> rounds;
    std::atomic<std::uint64_t> went_well[ranks_max];  // completed additions to that rank's word
    std::atomic<std::uint64_t> word;                  // the final value of the rank's word
    std::atomic<std::uint64_t> failed;  // invocations that failed with the code `peer`
    std::atomic<std::uint64_t> wrong;   // wrong results; the rank has printed them
};

struct FaultBoard {
    std::int32_t victim;                   // writer: the driver, before the job
    std::int32_t nodes;                    // writer: the driver, before the job
    std::atomic<std::uint32_t> is_struck;  // writer: the driver
    Note ranks[ranks_max];
};

}  // namespace acp::invoke_test
