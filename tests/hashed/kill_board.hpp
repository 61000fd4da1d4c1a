// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the driver of kills and the ranks that work on hashed containers. Zeros are
// its valid initial state. Writers: each rank its own note; rank 0 the containers, before the ranks
// work; the driver the other fields.
#pragma once

#include <atomic>
#include <cstdint>

#include <acp/map.h>
#include <acp/multimap.h>
#include <acp/multiset.h>

namespace acp::test {

inline constexpr int kill_ranks = 4;
// Keys of the multiset that all ranks count.
inline constexpr int shared_keys = 3;

enum class KillPhase : std::int32_t {
    absent,
    working,
    // The rank has stopped working, after the kill.
    rested,
    // The rank has found all entries that it had stored.
    verified,
    // The rank no longer needs the containers.
    destroyed,
    // The rank has read the state of all heaps, which reclaims its removed entries.
    cleaned,
    // The rank no longer needs any heap.
    looked,
    failed,
};

struct KillNote {
    std::atomic<std::int32_t> process;
    // Release by the rank, after its other fields.
    std::atomic<KillPhase> phase;
    // Blocks in the rank's heap before the containers are made.
    std::atomic<std::uint64_t> blocks_before;
    std::atomic<std::uint64_t> blocks_after;
    // How often the rank has added a shared key and not removed it: after the call in flight, and
    // before it. A kill in the call leaves either count.
    std::atomic<std::int64_t> shared_after[shared_keys];
    std::atomic<std::int64_t> shared_before[shared_keys];
    // The first failure.
    char message[480];
};

struct KillBoard {
    static bool is_at_work(const KillNote& note) {
        return note.phase.load(std::memory_order_acquire) >= KillPhase::working;
    }

    std::uint64_t seed;
    std::int32_t victim;
    // 0: ranks of other nodes cannot access a dead rank's memory.
    std::int32_t has_tables_on_victim;
    std::atomic<std::int32_t> is_struck;
    // Has a table on each rank, the victim included.
    acp_map_t unused;
    acp_map_t map;
    acp_multimap_t multimap;
    acp_multiset_t multiset;
    // Each pair is swapped by its rank only, and used by no other before verify_pairs().
    acp_map_t pairs[kill_ranks][2];
    // All ranks move the entries of these between the two of a pair.
    acp_map_t moved_maps[2];
    acp_multimap_t moved_multimaps[2];
    // Calls of acp_move_multimap that were refused because a mover had died.
    std::atomic<std::int32_t> refused_moves;
    KillNote ranks[kill_ranks];
};

}  // namespace acp::test
