// SPDX-License-Identifier: BSD-3-Clause
// What a fault test's driver and the ranks of its job tell each other: who runs, how far it is, how its wait ended.
// Zero is the valid beginning. Writers: each rank its own note; the driver the rest.
#pragma once

#include <atomic>
#include <cstdint>
#include <sys/types.h>

namespace acp::test {

inline constexpr int fault_ranks_max = 64;

enum class Phase : std::int32_t { absent, started, joined, working, failed, finished };

// What the ranks do when the fault strikes.
enum class Work : std::int32_t {
    traffic,           // copies and atomics in all directions, with a barrier now and then
    barriers,          // acp_sync in a loop
    errands,           // to all others' memory that can be reached without them, and no barrier
    exact,             // likewise, every byte and every total looked at; one agreed end
    barrier_wait,      // all but the victim wait in acp_sync
    command_wait,      // all but the victim wait in acp_wait for a command only the victim can run
    command_complete,  // likewise in acp_complete
    source_wait,       // likewise in acp_wait_source, for a put that only the victim can run
    copied_put,        // likewise in acp_put_copied
    revocation,        // rank 0 registers and unregisters, the others copy into it
    early_end,         // the victim ends in the way Ending says, the others work on
};

enum class Ending : std::int32_t { none, exit_zero, exit_three, abort, segfault, acp_abort };

struct RankNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> parent;
    std::atomic<Phase> phase;        // release by the rank, after what belongs to it
    std::atomic<std::int32_t> code;  // of the failure
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
    std::atomic<std::int32_t> may_end;      // driver: enough work
    std::atomic<std::uint64_t> last_round;  // rank 0: agreed end of the work, 0 = not yet
    std::atomic<std::uint64_t> cycles;      // of revocation
    RankNote ranks[fault_ranks_max];
};

}  // namespace acp::test
