// SPDX-License-Identifier: BSD-3-Clause
// What the driver of kills and the ranks that use segmented buffers tell each other. Zero is the valid beginning. Writers: each rank its own
// note; the driver the scene.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int segbuf_ranks = 3;
inline constexpr int victim_rank = 1;

// Where the survivors are when the victim dies.
enum class Scene : std::int32_t {
    asking,      // for segments and for room, while segments travel
    connecting,  // the victim does not make its ends
    freeing,     // the victim does not disconnect
    count
};

struct SegbufNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> is_at_work;
    std::atomic<std::int64_t> moved;          // segments between the survivors
    std::atomic<std::int64_t> refused_at_ns;  // when a call first failed; of support/clock.hpp
    std::atomic<std::int64_t>
        blocks_left;    // in its heap, in the end, more than after the first exchange
    char message[480];  // of the first thing that was wrong
};

struct SegbufBoard {
    static bool is_at_work(const SegbufNote& note) {
        return note.is_at_work.load(std::memory_order_acquire) != 0;
    }

    std::atomic<std::int32_t> scene;
    SegbufNote ranks[segbuf_ranks];
};

}  // namespace acp::test
