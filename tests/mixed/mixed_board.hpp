// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the driver of mixed jobs and the ranks. Zeros are its valid initial state.
// Writers: each rank its own note; rank first_survivor() the containers, before the barrier; the
// driver the other fields, before the ranks start.
#pragma once

#include <atomic>
#include <cstdint>

#include <acp.h>

namespace acp::test {

inline constexpr int mixed_ranks = 6;

// The behaviour of a survivor after its first failed call.
enum class AfterDeath : std::int32_t {
    // Waits for no other rank: acp_finalize ends the operations that others await from it.
    leave,
    // Sends its neighbours a last message, receives theirs, and frees its objects.
    part
};

struct MixedNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> is_at_work;
    // When a call first failed; by support/clock.hpp.
    std::atomic<std::int64_t> refused_at_ns;
    std::atomic<std::int64_t> left_at_ns;  // when acp_finalize has returned
    // The first failure.
    char message[480];
};

struct MixedBoard {
    static bool is_at_work(const MixedNote& note) noexcept {
        // Acquire: makes the rank's process number visible. Partner: the rank's release store.
        return note.is_at_work.load(std::memory_order_acquire) != 0;
    }

    // The rank that makes the containers: the lowest one that survives.
    [[nodiscard]] int first_survivor() const noexcept { return victim == 0 ? 1 : 0; }

    std::uint64_t seed;
    std::int32_t victim;
    AfterDeath after;
    // Has tables on all ranks except the victim.
    acp_map_t map;
    // Lies on first_survivor().
    acp_deque_t deque;
    MixedNote ranks[mixed_ranks];
};

}  // namespace acp::test
