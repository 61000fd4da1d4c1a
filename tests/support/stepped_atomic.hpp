// SPDX-License-Identifier: BSD-3-Clause
// An atomic of a process that is killed or stopped before one of its accesses: for lock-free code
// whose atomics are a parameter.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <type_traits>
#include <unistd.h>

namespace acp::test {

// The number of the access before which this process sends itself a signal; 0: never.
inline std::uint64_t steps_left = 0;
inline int signal_at_step = SIGKILL;

inline void step() noexcept {
    if (steps_left != 0 && --steps_left == 0) (void)kill(getpid(), signal_at_step);
}

// std::atomic, with a step before each access.
template <typename T>
class SteppedAtomic {
public:
    constexpr SteppedAtomic() noexcept = default;

    constexpr SteppedAtomic(T value) noexcept  // NOLINT(google-explicit-constructor)
        : value_(value) {}

    T load(std::memory_order order) const noexcept {
        step();
        return value_.load(order);
    }

    void store(T value, std::memory_order order) noexcept {
        step();
        value_.store(value, order);
    }

    T fetch_or(T bits, std::memory_order order) noexcept {
        step();
        return value_.fetch_or(bits, order);
    }

    T fetch_and(T bits, std::memory_order order) noexcept {
        step();
        return value_.fetch_and(bits, order);
    }

    T fetch_add(T value, std::memory_order order) noexcept {
        step();
        return value_.fetch_add(value, order);
    }

    template <typename... Orders>
    bool compare_exchange_strong(T& expected, T value, Orders... orders) noexcept {
        step();
        return value_.compare_exchange_strong(expected, value, orders...);
    }

    template <typename... Orders>
    T exchange(T value, Orders... orders) noexcept {
        step();
        return value_.exchange(value, orders...);
    }

    template <typename... Orders>
    bool compare_exchange_weak(T& expected, T value, Orders... orders) noexcept {
        step();
        return value_.compare_exchange_weak(expected, value, orders...);
    }

private:
    std::atomic<T> value_;
};

// A step before an operation that is no access of a SteppedAtomic; no effect for other atomics.
template <template <class> class Atomic>
void step_of() noexcept {
    if constexpr (std::is_same_v<Atomic<std::uint64_t>, SteppedAtomic<std::uint64_t>>) step();
}

}  // namespace acp::test
