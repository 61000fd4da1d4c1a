// SPDX-License-Identifier: BSD-3-Clause
// What the driver of mixed jobs and their ranks tell each other. Zero is the valid beginning. Writers: each rank its own note; rank
// first_survivor() the containers, before the ranks meet; the driver the rest, before the ranks begin.
#pragma once

#include <atomic>
#include <cstdint>

#include <acp.h>

namespace acp::test {

inline constexpr int mixed_ranks = 6;

// What a rank does when it has been told of the death.
enum class AfterDeath : std::int32_t {
    leave,  // waits for no other rank: acp_finalize ends what others still expect of it
    part    // sends its neighbours a last message, receives theirs, and frees what it has
};

struct MixedNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> is_at_work;
    std::atomic<std::int64_t> refused_at_ns;  // when a call first failed; of support/clock.hpp
    std::atomic<std::int64_t> left_at_ns;     // when acp_finalize has returned
    char message[480];                        // of the first thing that was wrong
};

struct MixedBoard {
    static bool is_at_work(const MixedNote& note) noexcept {
        // acquire: the process of the rank; partner: the store of the rank
        return note.is_at_work.load(std::memory_order_acquire) != 0;
    }

    // The rank that makes the containers.
    [[nodiscard]] int first_survivor() const noexcept { return victim == 0 ? 1 : 0; }

    std::uint64_t seed;
    std::int32_t victim;
    AfterDeath after;
    acp_map_t map;      // on all ranks but the victim
    acp_deque_t deque;  // of first_survivor()
    MixedNote ranks[mixed_ranks];
};

}  // namespace acp::test
