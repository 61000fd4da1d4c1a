// SPDX-License-Identifier: BSD-3-Clause
// The word by which a waiter on another node than the lock's learns that the lock is its. Each wait
// has a number, and a grant sets the word only if the word awaits this number. Several threads may
// notify one waiter, and each of them may be stopped for any time before it does, so a grant may
// come when its wait is over and the thread waits again: it changes nothing then. The word counts
// the waits itself, so its memory is never used for anything else. One thread at a time waits; any
// thread grants. Zeros are a word of which no wait has begun. Reasons: ADR 0041.
//
// A grant may carry bytes, for the room behind the word (GrantRoom). Its thread claims the room first,
// so two grants never write it at once, and no later wait begins in a word whose room a stopped or
// dead thread may still write: begin() refuses it.
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
    static constexpr std::uint64_t receiving = 3;         // a thread writes the bytes of its grant

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

    // Begins the next wait, and returns its number. Returns 0, and begins none, while a thread writes the
    // bytes of an earlier grant; a thread that was killed or stopped there writes for ever.
    [[nodiscard]] std::uint64_t begin() noexcept {
        std::uint64_t before = word_.load(std::memory_order_relaxed);
        for (;;) {
            if ((before & 3U) == GrantState::receiving) return 0;
            const std::uint64_t number = (before >> 2U) + 1;
            // Fails if a grant of an earlier wait comes in between. release: partner is the grant
            // that finds the number. acquire: the bytes of the earlier grant are written
            if (word_.compare_exchange_strong(before, number << 2U, std::memory_order_acq_rel,
                                              std::memory_order_relaxed))
                return number;
        }
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
    bool grant(std::uint64_t value) noexcept { return change(GrantState::before(value), value); }

    // Grants one wait with bytes: write() is called if the wait is to be granted, and stores them.
    // Returns as grant().
    template <typename Write>
    bool grant_with(std::uint64_t value, const Write& write) noexcept {
        const std::uint64_t claimed = GrantState::before(value) | GrantState::receiving;
        if (!change(GrantState::before(value), claimed)) return false;
        write();
        return change(claimed, value);
    }

private:
    // seq_cst: before the bell; partner: is_granted()
    bool change(std::uint64_t from, std::uint64_t into) noexcept {
        return word_.compare_exchange_strong(from, into, std::memory_order_seq_cst,
                                             std::memory_order_relaxed);
    }

    Atomic<std::uint64_t>& word_;
};

// The memory of a grant word.
struct alignas(64) GrantRoom {
    std::atomic<std::uint64_t> word{0};
    // The wait whose grant wrote the bytes, and how many. Writers: the threads that claimed the room
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::uint64_t reserved[5] = {};
};

static_assert(sizeof(GrantRoom) == 64);

}  // namespace acp::sync
