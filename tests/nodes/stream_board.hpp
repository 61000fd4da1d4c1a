// SPDX-License-Identifier: BSD-3-Clause
// Shared memory between the driver of a stream test and the ranks of its job. Zeros are its valid
// initial state. Writers: each rank its own stream; the driver the other fields.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::test {

inline constexpr int stream_ranks_max = 16;
inline constexpr std::uint64_t stream_copy_bytes = 1024ULL * 1024;

struct alignas(64) Stream {
    std::atomic<std::int32_t> process;
    // The sum over completed copies.
    std::atomic<std::uint64_t> bytes;
    // Copies that failed or arrived with wrong bytes.
    std::atomic<std::uint64_t> failures;
};

struct StreamBoard {
    // Set by the driver.
    std::atomic<std::int32_t> may_end;
    // One for each rank that sends to rank 0.
    Stream streams[stream_ranks_max];
};

}  // namespace acp::test
