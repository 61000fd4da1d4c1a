// SPDX-License-Identifier: BSD-3-Clause
// The thread caches of a heap for all processes that use it, in shared memory, so that a call on
// the heap needs no memory of its own. A process has a fixed number of them: one for each of its
// first threads, one for the calls that it serves for other nodes, and some that any of its threads
// borrows when its own is in use (a signal handler has interrupted the thread) or when it has none. A thread that finds no room takes over unused
// caches of any process for a moment, to free the blocks that they keep: the owner then borrows
// another cache. Zero bytes are unused caches. Any thread.
// Tests: tests/unit/heap/cache_places_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "heap/at_work.hpp"
#include "heap/control.hpp"
#include "heap/thread_cache.hpp"
#include "heap/unit_word.hpp"

namespace acp::heap {

inline constexpr std::uint32_t threads_with_cache =
    23;  // threads of a process with a cache of their own
inline constexpr std::uint32_t caches_per_process = 32;

// The number of no thread: that of the calls which the process serves for other nodes, one at a
// time. Their cache is behind those of the threads.
inline constexpr std::uint32_t thread_for_others = 64;

// The caches of the process that has this number among those that use the heap.
[[nodiscard]] constexpr CacheNumbers caches_of(std::uint32_t process) noexcept {
    return {process * caches_per_process, caches_per_process};
}

// The cache whose thread has taken over a cache, and its predecessor: a dead one, whose work may be
// unfinished. Cache numbers + 1; 0: none.
struct CacheTaker {
    std::uint32_t number = 0;
    std::uint32_t before = 0;
};

class CachePlaces {
public:
    //   memory     bytes(processes), zero at first, aligned to 64
    //   order_all  see Heap; the same for all users of the caches
    explicit CachePlaces(char* memory, OrderAll order_all = nullptr) noexcept
        : places_(reinterpret_cast<CachePlace*>(memory)), order_all_(order_all) {}

    //   processes  at most caches_max / caches_per_process
    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t processes) noexcept {
        return std::uint64_t{processes} * caches_per_process * sizeof(CachePlace);
    }

    class OwnPlace;

    // The place of a thread that has one of its own (thread < threads_with_cache), only if no fence
    // is needed (`order_all` was not nullptr).
    [[nodiscard]] OwnPlace own_place(std::uint32_t process, std::uint32_t thread) const noexcept;

    // Borrows a cache for one call, until give_back().
    //   process  the caller's number among those that use the heap
    //   thread   the caller's number among the threads of its process, or thread_for_others; no other
    //            thread has it at the same time
    // nullptr: the thread has no free cache of its own, and all others are in use.
    [[nodiscard]] ThreadCache* borrow(std::uint32_t process, std::uint32_t thread) const noexcept {
        const CacheNumber first = caches_of(process).first;
        const std::uint32_t number = place_of(thread);
        if (number <= threads_with_cache) [[likely]] {
            CachePlace& own = places_[first + number];
            // relaxed: only this thread and its signal handlers use the place
            if (own.is_in_use.load(std::memory_order_relaxed) == 0) [[likely]] {
                mark_in_use(own);
                if (own.taker.load(std::memory_order_acquire) == 0) [[likely]] {
                    own.cache.set_number(first + number);
                    return &own.cache;
                }
                // release: writes of earlier calls, for a taker that loads this store; partner:
                // take_over()
                own.is_in_use.store(0, std::memory_order_release);
            }
        }
        return borrow_any(first);
    }

    void give_back(ThreadCache& cache) const noexcept {
        // release: the next borrower or taker sees the cache's content; partners: borrow_any(),
        // take_over()
        places_[cache.number()].is_in_use.store(0, std::memory_order_release);
    }

    // Takes over a cache that no call uses, until let_go(). nullptr: a call uses it, or another
    // thread has taken it over.
    //   taker  the caller's own cache
    //   dead   the dead taker from which it is taken over
    [[nodiscard]] ThreadCache* take_over(CacheNumber number,
                                         CacheNumber taker,
                                         CacheTaker dead = {}) const noexcept {
        CachePlace& place = places_[number];
        if (place.is_in_use.load(std::memory_order_relaxed) != 0) return nullptr;
        std::uint64_t expected = packed(dead);
        // seq_cst: ordered before the load of is_in_use; partner: mark_in_use(), followed by the
        // load of the taker
        if (!place.taker.compare_exchange_strong(expected, packed({taker + 1U, dead.number}),
                                                 std::memory_order_seq_cst)) {
            return nullptr;
        }
        const bool is_ordered = order_all_ == nullptr || order_all_();
        if (!is_ordered || place.is_in_use.load(std::memory_order_seq_cst) != 0) {
            place.taker.store(packed(dead), std::memory_order_release);
            return nullptr;
        }
        place.cache.set_number(number);
        return &place.cache;
    }

    // Returns a cache that take_over() took.
    //   dead  see take_over(), if its work is not finished yet
    void let_go(CacheNumber number, CacheTaker dead = {}) const noexcept {
        // release: the taker's writes to the cache; partner: borrow()
        places_[number].taker.store(packed(dead), std::memory_order_release);
    }

    [[nodiscard]] CacheTaker taker_of(CacheNumber number) const noexcept {
        const std::uint64_t word = places_[number].taker.load(std::memory_order_seq_cst);
        return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
    }

    // Whether a cache is that of thread_for_others in its process.
    [[nodiscard]] static constexpr bool is_for_others(CacheNumber number) noexcept {
        return number % caches_per_process == threads_with_cache;
    }

private:
    // Of its process's places; caches_per_process: the thread has none of its own.
    [[nodiscard]] static constexpr std::uint32_t place_of(std::uint32_t thread) noexcept {
        if (thread < threads_with_cache) [[likely]]
            return thread;
        return thread == thread_for_others ? threads_with_cache : caches_per_process;
    }

    [[nodiscard]] static constexpr std::uint64_t packed(CacheTaker taker) noexcept {
        return std::uint64_t{taker.before} << 32 | taker.number;
    }

    struct alignas(64) CachePlace {
        std::atomic<std::uint32_t> is_in_use;  // writers: the threads of its process
        std::atomic<std::uint64_t> taker;      // a packed CacheTaker
        ThreadCache cache;
    };

    // Ordered before the caller's test whether another thread has taken the place over.
    void mark_in_use(CachePlace& place) const noexcept {
        if (order_all_ != nullptr) [[likely]] {
            mark_by_store(place);
        } else {
            place.is_in_use.exchange(1, std::memory_order_seq_cst);  // partner: take_over()
        }
    }

    static void mark_by_store(CachePlace& place) noexcept {
        place.is_in_use.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(
            std::memory_order_seq_cst);  // take_over() executes the other half of the pair
    }

    // Not gnu::cold, although it is rare: gcc 12 also treats the code before a call of a cold
    // function as cold, through several inline functions, and so optimized nearly all calls on
    // containers for size.
    [[nodiscard, gnu::noinline]] ThreadCache* borrow_any(CacheNumber first) const noexcept {
        for (CacheNumber i = first + threads_with_cache + 1; i < first + caches_per_process; ++i) {
            CachePlace& place = places_[i];
            std::uint32_t none = 0;
            // seq_cst: ordered before the load of the taker; partners: give_back(), take_over()
            if (!place.is_in_use.compare_exchange_strong(none, 1, std::memory_order_seq_cst,
                                                         std::memory_order_relaxed)) {
                continue;
            }
            if (place.taker.load(std::memory_order_seq_cst) == 0) {
                place.cache.set_number(i);
                return &place.cache;
            }
            place.is_in_use.store(0, std::memory_order_release);
        }
        return nullptr;
    }

    CachePlace* places_;
    OrderAll order_all_;
};

// The place of one thread: begin() and end() replace borrow() and give_back(). A call that uses the
// number of the cache but not its content keeps the place from call to call. Only that thread uses
// it.
class CachePlaces::OwnPlace {
public:
    OwnPlace() noexcept = default;

    // false: the thread is in a call that uses the place already (this is a signal handler), or
    // another thread has taken the place over.
    [[nodiscard, gnu::always_inline]] bool begin() const noexcept {
        // relaxed: only this thread and its signal handlers use the place
        if (place_->is_in_use.load(std::memory_order_relaxed) != 0) [[unlikely]]
            return false;
        mark_by_store(*place_);
        if (place_->taker.load(std::memory_order_acquire) == 0) [[likely]]
            return true;
        end();
        return false;
    }

    // The cache, between begin() and end().   number  of the place
    [[nodiscard, gnu::always_inline]] ThreadCache& cache(CacheNumber number) const noexcept {
        place_->cache.set_number(number);
        return place_->cache;
    }

    void end() const noexcept {
        // release: writes of this call, for a taker that loads this store; partner: take_over()
        place_->is_in_use.store(0, std::memory_order_release);
    }

private:
    friend class CachePlaces;

    explicit OwnPlace(CachePlace& place) noexcept : place_(&place) {}

    CachePlace* place_ = nullptr;
};

inline CachePlaces::OwnPlace CachePlaces::own_place(std::uint32_t process,
                                                    std::uint32_t thread) const noexcept {
    return OwnPlace(places_[caches_of(process).first + thread]);
}

}  // namespace acp::heap
