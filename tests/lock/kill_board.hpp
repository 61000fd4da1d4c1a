// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the driver and the ranks that take a lock. Zeros are its valid initial
// state. Writers: each rank its own note; the holder of the lock the guarded words; the driver the
// other fields.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int kill_ranks = 4;

enum class LockTask : std::int32_t {
    contend,            // all ranks take the lock until one is killed, and some times more
    contend_for_bytes,  // contend, where bytes of shared pages travel with the lock
    count,              // all ranks take the lock so often
    hold,               // the victim holds the lock until is_over, and the others wait for it
    calls,              // each call in each state
    full_heaps,         // the home holds the lock, and the others wait for it with full heaps
    resets,             // all wait for the lock for short times between calls of acp_reset
};

enum class LockPhase : std::int32_t { absent, working, holding, done };

struct LockNote {
    std::atomic<std::int32_t> process;
    std::atomic<LockPhase> phase;
    std::atomic<std::uint64_t> entries;
    std::atomic<std::uint64_t> deaths_told;
    char message[480];  // the first failure
};

struct KillBoard {
    static bool is_at_work(const LockNote& note) {
        return note.phase.load(std::memory_order_acquire) >= LockPhase::working;
    }

    std::uint64_t seed;
    LockTask task;
    std::int32_t victim;
    std::int32_t home;  // the rank whose heap the lock is in
    std::atomic<std::uint32_t> is_struck;
    std::atomic<std::uint32_t> is_over;
    std::atomic<std::uint64_t> lock;  // its address; writer: the first rank
    // What the lock guards: 1 + the rank inside, and two words that differ inside alone.
    std::atomic<std::int32_t> inside;
    std::atomic<std::uint64_t> first;
    std::atomic<std::uint64_t> second;
    std::atomic<std::uint64_t> bound;  // the section whose bytes the last holder wrote
    LockNote ranks[kill_ranks];
};

}  // namespace acp::test
