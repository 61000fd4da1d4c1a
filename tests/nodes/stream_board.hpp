// SPDX-License-Identifier: BSD-3-Clause
// What the driver of a stream test and the ranks of its job tell each other. Zero is the valid beginning. Writers:
// each rank its own stream; the driver the rest.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int stream_ranks_max = 16;
inline constexpr std::uint64_t stream_copy_bytes = 1024ULL * 1024;

struct alignas(64) Stream {
    std::atomic<std::int32_t> process;
    std::atomic<std::uint64_t> bytes;     // of copies that are complete
    std::atomic<std::uint64_t> failures;  // copies that failed, or came with other bytes
};

struct StreamBoard {
    std::atomic<std::int32_t> may_end;  // driver: enough
    Stream streams[stream_ranks_max];   // of each rank but 0, to whom they all go
};

}  // namespace acp::test
