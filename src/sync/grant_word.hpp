// SPDX-License-Identifier: BSD-3-Clause
// The word by which a waiter on another node than the lock's learns that the lock is its. Each wait
// has a number, and a grant sets the word only if the word awaits this number. Several threads may
// notify one waiter, and each of them may be stopped for any time before it does, so a grant may
// come when its wait is over and the thread waits again: it changes nothing then. The word counts
// the waits itself, so its memory is never used for anything else. One thread at a time waits; any
// thread grants. Zeros are a word of which no wait has begun. Reasons: ADR 0041.
// Tests: tests/unit/sync/far_waiter_test.cpp, under the seeded scheduler.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::sync {

// A number of a wait and what became of it, as 64 bits.
struct GrantState {
    static constexpr std::uint64_t awaited = 0;
    static constexpr std::uint64_t granted = 1;
    static constexpr std::uint64_t granted_by_death = 2;  // the holder before died

    // Returns the value of a word whose wait was granted.
    [[nodiscard]] static constexpr std::uint64_t of_grant(std::uint64_t number,
                                                          bool has_died) noexcept {
        return number << 2U | (has_died ? granted_by_death : granted);
    }

    // Returns the value before the grant `value`.
    [[nodiscard]] static constexpr std::uint64_t before(std::uint64_t value) noexcept {
        return value & ~std::uint64_t{3};
    }

    // Whether a word may become this value by a grant.
    [[nodiscard]] static constexpr bool is_grant(std::uint64_t value) noexcept {
        const std::uint64_t kind = value & 3U;
        return value > 3 && (kind == granted || kind == granted_by_death);
    }
};

template <template <class> class Atomic = std::atomic>
class GrantWord {
public:
    explicit GrantWord(Atomic<std::uint64_t>& word) noexcept : word_(word) {}

    // Begins the next wait, and returns its number, which is not 0.
    std::uint64_t begin() noexcept {
        // relaxed: only a grant of an earlier wait comes in between, and is overwritten
        const std::uint64_t number = (word_.load(std::memory_order_relaxed) >> 2U) + 1;
        // release: partner is the grant that finds it
        word_.store(number << 2U, std::memory_order_release);
        return number;
    }

    // Whether the wait that began last is granted.
    [[nodiscard]] bool is_granted() const noexcept {
        // seq_cst: after the announcement of a sleep; partner: grant(), before the bell
        return GrantState::is_grant(word_.load(std::memory_order_seq_cst));
    }

    // Whether the grant followed a death.
    [[nodiscard]] bool has_died() const noexcept {
        return (word_.load(std::memory_order_seq_cst) & 3U) == GrantState::granted_by_death;
    }

    // Grants one wait.   value  GrantState::of_grant
    // False: that wait is granted already, or another one has begun.
    bool grant(std::uint64_t value) noexcept {
        std::uint64_t before = GrantState::before(value);
        return word_.compare_exchange_strong(before, value, std::memory_order_seq_cst,
                                             std::memory_order_relaxed);
    }

private:
    Atomic<std::uint64_t>& word_;
};

}  // namespace acp::sync
