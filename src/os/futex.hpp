// SPDX-License-Identifier: BSD-3-Clause
// Sleeping on a 32-bit word and waking its sleepers, across processes that share the memory. The
// kernel compares and queues in one step, so a wake between the caller's look and its sleep is not
// lost as long as the waker changes the word first. Knows nothing of what the word means. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace acp::os {

enum class Wake {
    woken,        // somebody woke us, perhaps for another reason: look again
    changed,      // the word was not the expected one; we did not sleep
    timeout,      // the time ran out
    interrupted,  // a signal handler ran
};

// Sleeps while word is expected.
//   word        in memory shared by all who wait and wake (or private to one process)
//   timeout_ns  < 0 for ever; 0 looks once
// Blocks. Orders nothing: load the word with acquire afterwards.
Wake futex_wait(const std::atomic<std::uint32_t>& word,
                std::uint32_t expected,
                std::int64_t timeout_ns) noexcept;

inline constexpr int everybody = std::numeric_limits<int>::max();

// Wakes up to count sleepers (1 .. INT_MAX); returns how many it woke.
int futex_wake(std::atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace acp::os
