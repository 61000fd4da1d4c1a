// SPDX-License-Identifier: BSD-3-Clause
// A lock of one process that costs the thread which uses it most no locked instruction, since such
// an instruction waits for all earlier stores of the processor. One thread may adopt the lock; from
// then on it takes the lock by a store and a load. The first other thread that takes the lock ends
// the adoption for ever; from then on all threads take the mutex inside. Knows no thread and no
// kernel call: the Platform has them.
//
// Adopter:                                     First other thread, with the mutex:
//   in_use = 1                                   adopter = ended
//   adopter still me? else in_use = 0, mutex     a barrier on the processors of all threads
//   ...                                          wait until in_use = 0
//   in_use = 0                                   ...
//
// The other thread executes the barrier between its store of `ended` and its loads of in_use. If
// the adopter stored in_use before the barrier, the other thread sees that store and waits; else
// the adopter loads `adopter` after the barrier and sees `ended`. No second thread adopts the lock,
// because the first adopter, still inside a lock call, could clear the in_use of the second. If an
// adopter exits while it holds the lock, the other threads wait for ever, as for a mutex.
// Tests: tests/unit/sync/biased_lock_test.cpp, under the seeded scheduler.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/assert.hpp"

namespace acp::sync {

// A Platform has
//   Atomic<T>, Mutex
//   static std::uint64_t self()     of the calling thread; neither 0 nor 1
//   static void expedite()          a barrier on the processors of all threads of the process
//   static void pause()             between loads of in_use
template <typename Platform>
class BiasedLock {
public:
    BiasedLock() = default;
    BiasedLock(const BiasedLock&) = delete;
    BiasedLock& operator=(const BiasedLock&) = delete;
    ~BiasedLock() = default;

    // Takes the lock if the calling thread has adopted it; else returns false.
    [[nodiscard]] bool lock_as_adopter() noexcept {
        const std::uint64_t self = Platform::self();
        // relaxed: only this thread stores its own number there; if it misses the end of the
        // adoption here, it sees that at its second load
        if (adopter_.load(std::memory_order_relaxed) != self) return false;
        // Fails if a signal handler interrupted this thread while it held the lock and took it
        // again; handlers may not.
        ACP_ASSERT(in_use_.load(std::memory_order_relaxed) == 0);
        in_use_.store(1, std::memory_order_relaxed);
        // This keeps the compiler from reordering the store and the load; expedite() of the other
        // thread keeps the processor from it.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (adopter_.load(std::memory_order_relaxed) == self) [[likely]] {
            is_by_adopter_ = true;
            return true;
        }
        // release: the other thread may see this store in place of the last unlock(), partner:
        // end_adoption()
        in_use_.store(0, std::memory_order_release);
        return false;
    }

    void lock() noexcept {
        if (lock_as_adopter()) return;
        mutex_.lock();
        end_adoption();
    }

    [[nodiscard]] bool try_lock() noexcept {
        if (lock_as_adopter()) return true;
        if (!mutex_.try_lock()) return false;
        end_adoption();
        return true;
    }

    void unlock() noexcept {
        if (is_by_adopter_) {
            in_use_.store(0, std::memory_order_release);  // partner: end_adoption()
        } else {
            mutex_.unlock();
        }
    }

    // Releases a lock that lock_as_adopter() took, by one store.
    void unlock_as_adopter() noexcept {
        in_use_.store(0, std::memory_order_release);  // partner: end_adoption()
    }

    // The calling thread, which holds the lock, adopts it if no thread ever has.
    void adopt() noexcept {
        if (adopter_.load(std::memory_order_relaxed) == nobody)
            adopter_.store(Platform::self(), std::memory_order_relaxed);
    }

private:
    template <typename T>
    using Atomic = typename Platform::template Atomic<T>;

    static constexpr std::uint64_t nobody = 0;
    static constexpr std::uint64_t ended = 1;

    // The caller holds the mutex.
    void end_adoption() noexcept {
        // relaxed: all writers held the mutex, the adopter too when it adopted
        const std::uint64_t adopter = adopter_.load(std::memory_order_relaxed);
        if (adopter != nobody && adopter != ended) [[unlikely]] {
            adopter_.store(ended, std::memory_order_relaxed);
            Platform::expedite();
            // acquire: what the adopter did with the lock; partner: unlock()
            while (in_use_.load(std::memory_order_acquire) != 0) Platform::pause();
        }
        is_by_adopter_ = false;
    }

    typename Platform::Mutex mutex_;
    Atomic<std::uint64_t> adopter_{};
    Atomic<std::uint64_t> in_use_{};
    // whether the thread that holds the lock took it as the adopter; the holder writes and reads it
    bool is_by_adopter_ = false;
};

}  // namespace acp::sync
