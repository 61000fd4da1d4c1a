// SPDX-License-Identifier: BSD-3-Clause
// A bell: a word on which several threads may sleep and that any thread may ring. It counts its
// rings, so that a sleeper that announced itself before a ring does not fall asleep after it, even
// if another sleeper announced itself in between. Knows neither the futex nor the condition that is
// waited for. Lives in shared memory; zero is a bell without sleepers. Any thread of any process.
//
// Sleeper:                                     Ringer:
//   value = announce()                           publish what the sleeper looks for
//   look; found? do not sleep                    (a seq_cst fence or read-modify-write in between)
//   futex wait on word() while it is value       if (ring()) wake all on word()
//
// If one side dies or stops: a sleeper that dies leaves the bit set, which costs one needless wake.
// A ringer that dies before ring() has not rung; one that dies after ring() has not woken the
// sleepers. Therefore the thread that reports a death rings, and wakes the sleepers whatever ring()
// returns.
// Tests: tests/unit/sync/bell_test.cpp, under the seeded scheduler.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::sync {

template <template <class> class Atomic = std::atomic>
class Bell {
public:
    // Announces a sleeper. Returns the value to sleep on.
    [[nodiscard]] std::uint32_t announce() noexcept {
        // seq_cst: the look that follows must not be ordered before the announcement; partner: the
        // ringer's fence
        return word_.fetch_or(sleep_bit, std::memory_order_seq_cst) | sleep_bit;
    }

    // true when a thread sleeps: the caller must then wake all on word(). One load when no thread
    // sleeps.
    [[nodiscard]] bool ring() noexcept {
        // seq_cst: comes after the ringer's store of the data, see above
        std::uint32_t value = word_.load(std::memory_order_seq_cst);
        while ((value & sleep_bit) != 0) {
            // acq_rel: one of several ringers wins and wakes; relaxed on failure: the loop tries
            // again
            if (word_.compare_exchange_weak(value, (value + 2) & ~sleep_bit,
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }

    // For futex wait and wake only.
    [[nodiscard]] Atomic<std::uint32_t>& word() noexcept { return word_; }

private:
    static constexpr std::uint32_t sleep_bit = 1;

    // rings << 1 | sleep bit. Writers: sleepers (set the bit), ringers (clear it and count).
    Atomic<std::uint32_t> word_{0};
};

static_assert(sizeof(Bell<>) == 4 && alignof(Bell<>) == 4);

}  // namespace acp::sync
