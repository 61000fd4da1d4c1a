// SPDX-License-Identifier: BSD-3-Clause
// Handles, and the three words by which a command queue publishes, to threads that do not take its
// lock, which of them are complete. The inline path reads nothing else of the queue.
// gma/command_queue.hpp defines the meaning of a handle.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::gma {

using Handle = std::uint64_t;

inline constexpr Handle handle_null = 0;
inline constexpr Handle handle_all = ~0ULL;
inline constexpr Handle handle_cont = ~0ULL - 1;

// The words that the inline path reads. Writer: the holder of the queue's lock. 0 in every word:
// the queue is closed; the view of memory then finds nothing either.
struct Marks {
    // Smaller handles, handle_null too, are complete, and no failure in their prefix is unreported.
    // Not "up to here", so that one comparison says as well whether the queue is open.
    std::atomic<std::uint64_t> complete_below{0};
    // Handles up to here may be used as order without asking the queue: besides, none of them
    // failed.
    std::atomic<std::uint64_t> order_floor{0};
    // The handle of a command that ran at once: newest number | 1.
    std::atomic<std::uint64_t> inline_handle{0};
};

}  // namespace acp::gma
