// SPDX-License-Identifier: BSD-3-Clause
// The thread caches of a heap for all processes that use it, in shared memory, so that whoever works on the heap needs no memory of
// its own. A process has a fixed number of them: one for each of its first threads, and some that any of its threads borrows
// when its own is in use (a signal handler has interrupted the thread that uses it) or when it has none. Zero bytes are caches
// that nobody uses. Any thread.
// Tests: tests/unit/heap/cache_places_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "heap/control.hpp"
#include "heap/thread_cache.hpp"
#include "heap/unit_word.hpp"

namespace acp::heap {

inline constexpr std::uint32_t threads_with_cache = 24;  // of one process
inline constexpr std::uint32_t caches_per_process = 32;

// The caches of the process that has this number among those that use the heap.
[[nodiscard]] constexpr CacheNumbers caches_of(std::uint32_t process) noexcept {
    return {process * caches_per_process, caches_per_process};
}

class CachePlaces {
public:
    //   memory  bytes(processes), zero at first, aligned to 64
    explicit CachePlaces(char* memory) noexcept : places_(reinterpret_cast<CachePlace*>(memory)) {}

    //   processes  at most caches_max / caches_per_process
    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t processes) noexcept {
        return std::uint64_t{processes} * caches_per_process * sizeof(CachePlace);
    }

    // A cache for one call, until give_back().
    //   process  the caller's number among those that use the heap
    //   thread   the caller's number among the threads of its process, which no other thread has meanwhile
    // nullptr: the thread has none of its own, and others use all that can be borrowed.
    [[nodiscard]] ThreadCache* borrow(std::uint32_t process, std::uint32_t thread) const noexcept {
        const CacheNumber first = caches_of(process).first;
        if (thread < threads_with_cache) [[likely]] {
            CachePlace& own = places_[first + thread];
            // relaxed: only this thread and its signal handlers use the place
            if (own.is_in_use.load(std::memory_order_relaxed) == 0) [[likely]] {
                own.is_in_use.store(1, std::memory_order_relaxed);
                std::atomic_signal_fence(std::memory_order_seq_cst);
                own.cache.set_number(first + thread);
                return &own.cache;
            }
        }
        return borrow_any(first);
    }

    void give_back(ThreadCache& cache) const noexcept {
        // release: who borrows it next sees what it remembers; partner: borrow_any()
        places_[cache.number()].is_in_use.store(0, std::memory_order_release);
    }

private:
    struct alignas(64) CachePlace {
        std::atomic<std::uint32_t> is_in_use;
        ThreadCache cache;
    };

    [[nodiscard, gnu::cold]] ThreadCache* borrow_any(CacheNumber first) const noexcept {
        for (CacheNumber i = first + threads_with_cache; i < first + caches_per_process; ++i) {
            std::uint32_t none = 0;
            // acquire: partner is give_back()
            if (!places_[i].is_in_use.compare_exchange_strong(none, 1, std::memory_order_acquire,
                                                              std::memory_order_relaxed)) {
                continue;
            }
            places_[i].cache.set_number(i);
            return &places_[i].cache;
        }
        return nullptr;
    }

    CachePlace* places_;
};

}  // namespace acp::heap
