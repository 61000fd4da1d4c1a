// SPDX-License-Identifier: BSD-3-Clause
// The words of a lock (sync/queued_lock.hpp) in shared memory, and the answers of its steps. Each
// word is 64 bits, so that one compare-and-swap changes it. Knows no step. Any thread.
// Tests: tests/unit/sync/queued_lock_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

namespace acp::sync {

inline constexpr std::uint32_t lock_process_bits = 20;
inline constexpr std::uint32_t lock_thread_bits = 6;
inline constexpr std::uint32_t lock_serial_bits = 12;
inline constexpr std::uint32_t lock_ticket_bits = 22;
inline constexpr std::uint32_t lock_ticket_mask = (1U << lock_ticket_bits) - 1;
// The number of a thread that shares it with other threads of its process.
inline constexpr std::uint32_t lock_thread_shared = (1U << lock_thread_bits) - 1;
inline constexpr std::uint32_t lock_places_max = 1U << 13U;

// A thread that takes or releases a lock.
struct LockParty {
    std::uint32_t process = 0;  // < 2^lock_process_bits
    std::uint32_t thread = 0;   // unique in the process, but for lock_thread_shared
    std::uint32_t serial = 0;   // distinguishes the waits of the process
};

enum class LockOutcome : std::uint32_t {
    taken,            // the caller holds the lock
    taken_from_dead,  // the caller holds the lock, and the holder before died
    held,             // another thread holds it, and the caller does not wait
    queued,           // the caller waits with a ticket
    own,              // the calling thread holds it already
    full,             // there are as many waiters as places
    released,
    not_holder,  // another thread holds it, or none
    left,        // the caller no longer waits
    freed,       // the lock was freed
    again        // other threads changed the lock too often: the caller calls once more
};

// Where a waiter of another node is notified (sync/grant_word.hpp).
struct LockNotice {
    std::uint64_t grant_word = 0;  // address; 0: the waiter polls
    std::uint64_t number = 0;      // GrantWord::begin
};

// The waiter to which a step gave the lock.
struct LockGrant {
    static constexpr std::uint32_t no_process = ~0U;
    std::uint32_t process = no_process;
    std::uint32_t serial = 0;
    std::uint32_t died = 0;  // 1: the holder before it died
    LockNotice notice;
};

struct LockAnswer {
    LockOutcome outcome = LockOutcome::again;
    std::uint32_t ticket = 0;                      // the caller has it if queued
    std::uint32_t holder = LockGrant::no_process;  // the process that holds the lock, if any
    LockGrant grant;                               // to be notified
};

template <template <class> class Atomic = std::atomic>
struct LockPlace {
    // ticket, process, thread, serial and state of the waiter. Writers: see above
    Atomic<std::uint64_t> waiter{0};
    // LockNotice of the waiter; the lock ignores the values. Only the gateway of the lock's node stores
    // them, for a waiter that takes the place
    Atomic<std::uint64_t> grant_word{0};
    Atomic<std::uint64_t> grant_number{0};
};

template <template <class> class Atomic = std::atomic>
struct alignas(64) LockHead {
    // Distinguishes a lock from other memory. Writers: the maker, and the thread that frees the lock
    Atomic<std::uint64_t> mark{0};
    // holder, ticket of the first waiter, and number of waiters. Writers: all
    Atomic<std::uint64_t> state{0};
    Atomic<std::uint64_t> places{0};  // a power of two; writer: the maker
    // Distance to the record of the bytes that are bound to the lock (sync/lock_bytes.hpp), modulo 2^64;
    // 0: there is none. Writers: the threads that bind and unbind, while the lock is free
    Atomic<std::uint64_t> record{0};
    std::uint64_t reserved[4] = {};
};

static_assert(sizeof(LockHead<>) == 64 && sizeof(LockPlace<>) == 24);

enum class LockWaiterState : std::uint32_t { waiting, granted, cancelled, skipped };

// The word of a place.
struct LockWaiter {
    LockWaiter(std::uint32_t its_ticket,
               const LockParty& its_party,
               LockWaiterState its_state) noexcept
        : ticket(its_ticket), party(its_party), state(its_state) {}

    explicit LockWaiter(std::uint64_t word) noexcept
        : ticket(static_cast<std::uint32_t>(word) & lock_ticket_mask),
          party{static_cast<std::uint32_t>(word >> 22U) & ((1U << lock_process_bits) - 1),
                static_cast<std::uint32_t>(word >> 42U) & lock_thread_shared,
                static_cast<std::uint32_t>(word >> 48U) & ((1U << lock_serial_bits) - 1)},
          state(static_cast<LockWaiterState>(word >> 60U)) {}

    [[nodiscard]] std::uint64_t word() const noexcept {
        return ticket | std::uint64_t{party.process} << 22U | std::uint64_t{party.thread} << 42U |
               std::uint64_t{party.serial} << 48U | static_cast<std::uint64_t>(state) << 60U;
    }

    std::uint32_t ticket;
    LockParty party;
    LockWaiterState state;
};

// The word of the lock. process_plus_1: 0, none holds it; freed_process, it was freed.
struct LockState {
    LockState(std::uint32_t its_process_plus_1,
              std::uint32_t its_thread,
              std::uint32_t its_died,
              std::uint32_t its_head,
              std::uint32_t its_waiters) noexcept
        : process_plus_1(its_process_plus_1),
          thread(its_thread),
          died(its_died),
          head(its_head),
          waiters(its_waiters) {}

    explicit LockState(std::uint64_t word) noexcept
        : process_plus_1(static_cast<std::uint32_t>(word) & freed_process),
          thread(static_cast<std::uint32_t>(word >> 21U) & lock_thread_shared),
          died(static_cast<std::uint32_t>(word >> 27U) & 1U),
          head(static_cast<std::uint32_t>(word >> 28U) & lock_ticket_mask),
          waiters(static_cast<std::uint32_t>(word >> 50U)) {}

    [[nodiscard]] static LockState freed() noexcept { return {freed_process, 0, 0, 0, 0}; }

    [[nodiscard]] std::uint64_t word() const noexcept {
        return process_plus_1 | std::uint64_t{thread} << 21U | std::uint64_t{died} << 27U |
               std::uint64_t{head} << 28U | std::uint64_t{waiters} << 50U;
    }

    [[nodiscard]] bool is_freed() const noexcept { return process_plus_1 == freed_process; }

    [[nodiscard]] bool is_held() const noexcept { return process_plus_1 != 0; }

    [[nodiscard]] std::uint32_t holder() const noexcept {
        return is_held() && !is_freed() ? process_plus_1 - 1 : LockGrant::no_process;
    }

    [[nodiscard]] std::uint32_t tail() const noexcept {
        return (head + waiters) & lock_ticket_mask;
    }

    [[nodiscard]] LockState held_by(const LockParty& party, bool has_died) const noexcept {
        return {party.process + 1, party.thread, has_died ? 1U : 0U, head, waiters};
    }

    // Without the first waiter.
    [[nodiscard]] LockState advanced() const noexcept {
        return {process_plus_1, thread, died, (head + 1) & lock_ticket_mask, waiters - 1};
    }

    std::uint32_t process_plus_1;
    std::uint32_t thread;
    std::uint32_t died;
    std::uint32_t head;
    std::uint32_t waiters;

private:
    static constexpr std::uint32_t freed_process = (1U << (lock_process_bits + 1)) - 1;
};

}  // namespace acp::sync
