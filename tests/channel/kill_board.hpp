// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the driver of kills and the ranks that send and receive. Zeros are its
// valid initial state. Writers: each rank its own note; the driver the other fields.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int channel_ranks = 3;
inline constexpr int victim_rank = 1;

struct ChannelNote {
    std::atomic<std::int32_t> process;
    std::atomic<std::int32_t> is_at_work;
    std::atomic<std::int32_t> has_ended;  // ended except for acp_finalize
    std::atomic<std::int64_t>
        refused_at_ns;  // when a request with the victim first failed; by support/clock.hpp
    std::atomic<std::int64_t>
        blocks_left;    // blocks in the rank's heap at the end, less those after the first channels
    char message[480];  // the first failure
};

struct ChannelBoard {
    static bool is_at_work(const ChannelNote& note) {
        return note.is_at_work.load(std::memory_order_acquire) != 0;
    }

    ChannelNote ranks[channel_ranks];
};

}  // namespace acp::test
