// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a job under fault and their driver tell each other. Standard layout; zero is valid.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace acp::invoke_test {

inline constexpr int ranks_max = 8;
inline constexpr std::size_t batch = 48;  // invokes that a rank has under way

enum class Phase : std::uint32_t { none, working, finished };

// Writer: the rank.
struct Note {
    std::atomic<pid_t> process;
    std::atomic<pid_t> parent;
    std::atomic<Phase> phase;
    std::atomic<std::uint64_t> rounds;
    std::atomic<std::uint64_t>
        went_well[ranks_max];           // additions to that rank's word that were told
    std::atomic<std::uint64_t> word;    // the rank's own, when all have finished
    std::atomic<std::uint64_t> failed;  // with the code of a peer
    std::atomic<std::uint64_t> wrong;   // whatever must not be; the rank has said it
};

struct FaultBoard {
    std::int32_t victim;                   // writer: the driver, before the job
    std::int32_t nodes;                    // the same
    std::atomic<std::uint32_t> is_struck;  // writer: the driver
    Note ranks[ranks_max];
};

}  // namespace acp::invoke_test
