// SPDX-License-Identifier: BSD-3-Clause
// A bell: a word on which several threads may sleep and that anybody may ring. It counts its rings, so that a
// sleeper that announced itself before a ring does not fall asleep after it, also when another sleeper
// announced itself in between. Knows neither futex nor what is waited for. Lives in shared memory; zero is a
// bell nobody sleeps on. Any thread of any process.
//
// Sleeper:                                     Ringer:
//   value = announce()                           make visible what the sleeper looks for
//   look; found? go on awake                     (a seq_cst fence or read-modify-write in between)
//   futex wait on word() while it is value       if (ring()) wake all on word()
//
// Whose death or stop does what: a sleeper that dies leaves the bit set, which costs one needless wake. A
// ringer that dies before ring() has not rung; one that dies after it has not woken: so who tells of a death
// rings, and wakes whatever ring() says.
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
        // seq_cst: the look that follows must not pass the announcement; partner: the ringer's fence
        return word_.fetch_or(sleep_bit, std::memory_order_seq_cst) | sleep_bit;
    }

    // true when somebody sleeps: the caller must then wake all on word(). One load when nobody does.
    [[nodiscard]] bool ring() noexcept {
        std::uint32_t value =
            word_.load(std::memory_order_seq_cst);  // after the publishing: see above
        while ((value & sleep_bit) != 0) {
            // acq_rel: one of several ringers wins and wakes; relaxed on failure: only a guess
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
