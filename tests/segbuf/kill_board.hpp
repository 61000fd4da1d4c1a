// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the driver of kills and the ranks that use segmented buffers. Zeros are its
// valid initial state. Writers: each rank its own note; the driver the scene.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int segbuf_ranks = 3;
inline constexpr int victim_rank = 1;

// The calls of the survivors when the victim dies.
enum class Scene : std::int32_t {
    asking,      // wait for segments and for room, while segments are in flight
    connecting,  // wait for the victim's ends, which it does not make
    freeing,     // wait for the victim, which does not disconnect
    count
};

struct SegbufNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> is_at_work;
    std::atomic<std::int64_t> moved;          // segments exchanged by the survivors
    std::atomic<std::int64_t> refused_at_ns;  // when a call first failed; by support/clock.hpp
    std::atomic<std::int64_t>
        blocks_left;    // blocks in the rank's heap at the end, less those after the first exchange
    char message[480];  // the first failure
};

struct SegbufBoard {
    static bool is_at_work(const SegbufNote& note) {
        return note.is_at_work.load(std::memory_order_acquire) != 0;
    }

    std::atomic<std::int32_t> scene;
    SegbufNote ranks[segbuf_ranks];
};

}  // namespace acp::test
