// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between a fault test's driver and the ranks of its job: processes, progress, and
// how waits ended. Zeros are its valid initial state. Writers: each rank its own note; the driver
// the other fields.
#pragma once

#include <atomic>
#include <cstdint>
#include <sys/types.h>

namespace acp::test {

inline constexpr int fault_ranks_max = 64;

enum class Phase : std::int32_t { absent, started, joined, working, failed, finished };

// The activity of the ranks when the fault strikes.
enum class Work : std::int32_t {
    traffic,           // copies and atomics in all directions, with a barrier now and then
    barriers,          // acp_sync in a loop
    errands,           // copies and atomics to all memories that need no owner's help; no barrier
    exact,             // errands with every byte and every total checked; the ranks end together
    barrier_wait,      // all but the victim wait in acp_sync
    command_wait,      // all but the victim wait in acp_wait for a command only the victim can run
    command_complete,  // all but the victim wait for such a command in acp_complete
    source_wait,  // all but the victim wait in acp_wait_source for a put only the victim can run
    copied_put,   // all but the victim wait in acp_put_copied for such a put
    revocation,   // rank 0 registers and unregisters, the others copy into it
    early_end,    // the victim ends as Ending says, the others continue
    giving_up,    // ranks of the last node copy into rank 0, which uses the memory anew afterwards
};

enum class Ending : std::int32_t { none, exit_zero, exit_three, abort, segfault, acp_abort };

struct RankNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> parent;
    // Release by the rank, after its other fields.
    std::atomic<Phase> phase;
    // The failure's error code.
    std::atomic<std::int32_t> code;
    std::atomic<std::int64_t> failed_at_ns;
    std::atomic<std::uint64_t> steps;
    std::atomic<std::uint64_t> memory;  // global address of its registered memory
    char where[32];                     // the call that failed
    char message[480];
};

struct FaultBoard {
    Work work;
    Ending ending;
    std::int32_t victim;
    std::uint64_t seed;
    // Set by the driver when the work suffices.
    std::atomic<std::int32_t> may_end;
    // Agreed by rank 0; 0: not yet.
    std::atomic<std::uint64_t> last_round;
    // The number of revocations; of rank 0's new uses of its memory.
    std::atomic<std::uint64_t> cycles;
    RankNote ranks[fault_ranks_max];
};

}  // namespace acp::test
