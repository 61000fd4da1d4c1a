// SPDX-License-Identifier: BSD-3-Clause
// Sleeps on a 32-bit word and wakes its sleepers, across processes that share the memory. The
// kernel compares and queues in one step, so a wake between the caller's check and its sleep is not
// lost if the waker changes the word first. Knows nothing of what the word means. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace acp::os {

enum class Wake {
    woken,        // another thread woke this one, perhaps for another reason: check again
    changed,      // the word was not the expected one; the thread did not sleep
    timeout,      // the time ran out
    interrupted,  // a signal handler ran
};

// Sleeps while the word has the expected value.
//   word        in memory that waiters and wakers share (or private to one process)
//   timeout_ns  < 0: none; 0: checks once
// Blocks. Orders nothing: load the word with acquire afterwards.
Wake futex_wait(const std::atomic<std::uint32_t>& word,
                std::uint32_t expected,
                std::int64_t timeout_ns) noexcept;

inline constexpr int everybody = std::numeric_limits<int>::max();

// Wakes up to count sleepers (1 .. INT_MAX); returns how many it woke.
int futex_wake(std::atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace acp::os
