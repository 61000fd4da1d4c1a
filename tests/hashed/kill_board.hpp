// SPDX-License-Identifier: BSD-3-Clause
// What the driver of kills and the ranks that work on hashed containers tell each other. Zero is the valid beginning. Writers: each
// rank its own note, rank 0 the containers before it works; the driver the rest.
#pragma once

#include <atomic>
#include <cstdint>

#include <acp/map.h>
#include <acp/multimap.h>
#include <acp/multiset.h>

namespace acp::test {

inline constexpr int kill_ranks = 4;
inline constexpr int shared_keys = 3;  // of the multiset: all ranks count them

enum class KillPhase : std::int32_t {
    absent,
    working,
    rested,     // has ended its work after the kill
    verified,   // has found what it had stored
    destroyed,  // needs the containers no more
    cleaned,    // has looked at all heaps, which frees what its calls had left to be freed
    looked,     // needs no heap any more
    failed,
};

struct KillNote {
    std::atomic<std::int32_t> process;
    std::atomic<KillPhase> phase;              // release by the rank, after what belongs to it
    std::atomic<std::uint64_t> blocks_before;  // of its heap, without containers
    std::atomic<std::uint64_t> blocks_after;
    // What it has added to shared keys and not taken back: after the call under way, and before it. A kill in the call leaves either.
    std::atomic<std::int64_t> shared_after[shared_keys];
    std::atomic<std::int64_t> shared_before[shared_keys];
    char message[480];  // of the first thing that was wrong
};

struct KillBoard {
    static bool is_at_work(const KillNote& note) {
        return note.phase.load(std::memory_order_acquire) >= KillPhase::working;
    }

    std::uint64_t seed;
    std::int32_t victim;
    std::int32_t
        has_tables_on_victim;  // 0: ranks of other nodes do not reach the memory of a dead one
    std::atomic<std::int32_t> is_struck;
    acp_map_t unused;  // with a table on each rank, that of the victim too
    acp_map_t map;
    acp_multimap_t multimap;
    acp_multiset_t multiset;
    acp_map_t pairs[kill_ranks]
                   [2];  // each is swapped by its rank, and used by nobody else before the end
    KillNote ranks[kill_ranks];
};

}  // namespace acp::test
