// SPDX-License-Identifier: BSD-3-Clause
// A seeded scheduler for lock-free structures: fibers of one thread that may change places before
// every operation on a sched::Atomic, chosen by a seed and nothing else, so that a failure can be
// run again. It kills or stops a fiber before any of its operations, finds sleeps that no fiber
// ends, and models a memory as weak as C++ allows (weak_memory.hpp): loads return stale values
// where no acquire forbids it, and a data race on plain data is a failure. One run at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "support/weak_memory.hpp"

namespace acp::test::sched {

struct Options {
    std::uint64_t seed = 1;

    // The fiber that ends or pauses before its operation number victim_operation (from 0); -1:
    // none.
    int victim = -1;
    std::uint64_t victim_operation = 0;
    // false: it never runs again. true: it is resumed when all others have ended or sleep, and
    // after on_stall.
    bool is_victim_resumed = false;

    // Called once, when no fiber can run and some sleep: plays the watcher after a death. If no
    // fiber can run after it, the run fails.
    std::function<void()> on_stall = nullptr;
};

struct Outcome {
    // What went wrong, with the seed; "" when all fibers ended (but a killed one).
    std::string failure;
    // The victim reached its operation; false when it ended before.
    bool is_victim_hit = false;
};

// Runs the fibers until each has ended or was killed. A killed fiber's stack is not unwound, so its
// memory leaks (LeaksAllowed). More than 10^6 operations are a failure.
Outcome run(const Options& options, const std::vector<std::function<void()>>& fibers);

// Calls test(seed) for seeds 1 .. count (1 .. count / 50 under a sanitizer) until the test has
// failed; with ACP_TEST_SEED=N in the environment for that one alone. Prints the seed of a failure.
void for_each_seed(std::uint64_t count, const std::function<void(std::uint64_t seed)>& test);

// Calls test for a victim that is killed, and one that is stopped and resumed, before each of its
// operations, each with seeds 1 .. count (or ACP_TEST_SEED alone). test returns whether the victim
// was hit; the walk ends with the first operation that no seed reaches.
void for_each_death(int victim,
                    std::uint64_t count,
                    const std::function<bool(const Options& options)>& test);

// --- For fibers ---

// A place to change fibers without an operation: in loops that poll.
void pause() noexcept;

// Sleeps while the word is expected, as a futex does; the check and the sleep are one step. Wakes
// all sleepers of a word. Outside of fibers sleep_while() has no effect.
void sleep_while(const void* word, bool is_expected) noexcept;
void wake_all(const void* word) noexcept;

// Notes that this fiber reads or writes plain data at an address. The run fails if another fiber's
// conflicting use is not ordered before it.
void note_read(const void* address) noexcept;
void note_write(const void* address) noexcept;

// --- For Atomic ---

// The switch point before an operation.
void before_operation() noexcept;
// The memory's part of an operation, see WeakMemory. load_value returns the value that the load
// reads.
std::uint64_t load_value(const void* word,
                         std::uint64_t newest,
                         std::memory_order order,
                         bool may_be_stale) noexcept;
void note_store(const void* word,
                std::uint64_t old,
                std::uint64_t value,
                std::memory_order order) noexcept;
void note_update(const void* word,
                 std::uint64_t old,
                 std::uint64_t value,
                 std::memory_order order) noexcept;
// Whether a weak compare-and-swap fails for no reason.
[[nodiscard]] bool is_spurious_failure() noexcept;

// A T in memory shared by fibers, with the interface of std::atomic. Zero bytes are a valid object.
template <typename T>
class Atomic {
    static_assert(std::is_unsigned_v<T>);

public:
    constexpr Atomic() noexcept = default;

    constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor)

    Atomic(const Atomic&) = delete;
    Atomic& operator=(const Atomic&) = delete;
    ~Atomic() = default;

    [[nodiscard]] T load(std::memory_order order) const noexcept {
        before_operation();
        return static_cast<T>(load_value(this, value_, order, true));
    }

    void store(T value, std::memory_order order) noexcept {
        before_operation();
        note_store(this, value_, value, order);
        value_ = value;
    }

    T exchange(T value, std::memory_order order) noexcept {
        return update(order, [value](T) { return value; });
    }

    T fetch_add(T value, std::memory_order order) noexcept {
        return update(order, [value](T old) { return static_cast<T>(old + value); });
    }

    T fetch_or(T value, std::memory_order order) noexcept {
        return update(order, [value](T old) { return static_cast<T>(old | value); });
    }

    T fetch_and(T value, std::memory_order order) noexcept {
        return update(order, [value](T old) { return static_cast<T>(old & value); });
    }

    bool compare_exchange_strong(T& expected,
                                 T desired,
                                 std::memory_order success,
                                 std::memory_order failure) noexcept {
        before_operation();
        return compare_exchange(expected, desired, success, failure);
    }

    bool compare_exchange_weak(T& expected,
                               T desired,
                               std::memory_order success,
                               std::memory_order failure) noexcept {
        before_operation();
        if (is_spurious_failure()) {
            expected = static_cast<T>(load_value(this, value_, failure, true));
            return false;
        }
        return compare_exchange(expected, desired, success, failure);
    }

    // The value, read without an operation: for futexes and for checks after a run.
    [[nodiscard]] T peek() const noexcept { return value_; }

private:
    template <typename Change>
    T update(std::memory_order order, Change change) noexcept {
        before_operation();
        const T old = value_;
        const T value = change(old);
        note_update(this, old, value, order);
        value_ = value;
        return old;
    }

    bool compare_exchange(T& expected,
                          T desired,
                          std::memory_order success,
                          std::memory_order failure) noexcept {
        if (value_ == expected) {
            note_update(this, value_, desired, success);
            value_ = desired;
            return true;
        }
        expected = static_cast<T>(load_value(this, value_, failure, false));
        return false;
    }

    T value_{};
};

static_assert(sizeof(Atomic<std::uint32_t>) == 4 && sizeof(Atomic<std::uint64_t>) == 8);

// atomic_thread_fence(seq_cst).
void fence() noexcept;
// A barrier on the processors of all fibers, like os::expedite().
void fence_all() noexcept;
// The number of the fiber that runs, from 0.
std::uint32_t current_fiber() noexcept;

// futex_wait on an Atomic.
template <typename T>
void sleep_while_is(const Atomic<T>& word, T expected) noexcept {
    before_operation();
    sleep_while(&word, word.peek() == expected);
}

}  // namespace acp::test::sched
