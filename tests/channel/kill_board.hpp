// SPDX-License-Identifier: BSD-3-Clause
// What the driver of kills and the ranks that send and receive tell each other. Zero is the valid beginning. Writers: each rank its own
// note; the driver the rest.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int channel_ranks = 3;
inline constexpr int victim_rank = 1;

struct ChannelNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> is_at_work;
    std::atomic<std::int32_t> has_ended;  // all but acp_finalize
    std::atomic<std::int64_t>
        refused_at_ns;  // when a request with the victim first failed; of support/clock.hpp
    std::atomic<std::int64_t>
        blocks_left;    // in its heap, in the end, more than after the first channels
    char message[480];  // of the first thing that was wrong
};

struct ChannelBoard {
    static bool is_at_work(const ChannelNote& note) {
        return note.is_at_work.load(std::memory_order_acquire) != 0;
    }

    ChannelNote ranks[channel_ranks];
};

}  // namespace acp::test
