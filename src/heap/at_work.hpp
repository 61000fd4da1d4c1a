// SPDX-License-Identifier: BSD-3-Clause
// Publishes that a call uses a cache, so that other threads may take over the spans of caches that
// are not in use (Spans::steal_idle). The call stores that it is at work, then tests whether its
// spans are still its own; a thief marks a span, then tests whether its holder is at work. Either
// the holder sees the mark or the thief sees that the holder is at work. If the thief can execute a
// barrier on all processors between its store and its load, the call needs no fence.
// Tests: tests/unit/heap/kill_test.cpp, concurrency_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/control.hpp"
#include "heap/thread_cache.hpp"

namespace acp::heap {

// Executes a full barrier in all threads of all processes that use the heap; false: the kernel
// refuses it now. nullptr: there is no such barrier, and calls execute fences.
using OrderAll = bool (*)() noexcept;

// Marks a cache as in use for the length of a call.
template <template <class> class Atomic>
class AtWork {
public:
    AtWork(const Control<Atomic>& control, const ThreadCache& cache, OrderAll order_all) noexcept
        : is_at_work_(control.cache(cache.number()).is_at_work) {
        if (order_all != nullptr) [[likely]] {
            mark_by_store();
        } else {
            is_at_work_.exchange(1, std::memory_order_seq_cst);  // partner: is_idle()
        }
    }

    // Only if no fence is needed (`order_all` would not be nullptr).
    explicit AtWork(CacheRecord<Atomic>& record) noexcept : is_at_work_(record.is_at_work) {
        mark_by_store();
    }

    ~AtWork() {
        // release: the call's writes; partner: is_idle()
        is_at_work_.store(0, std::memory_order_release);
    }

    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

private:
    void mark_by_store() const noexcept {
        is_at_work_.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(
            std::memory_order_seq_cst);  // thieves execute the other half of the pair
    }

    Atomic<std::uint64_t>& is_at_work_;
};

// Whether no call uses a cache, and the cache has no pending block.
template <template <class> class Atomic>
[[nodiscard]] bool is_idle(const Control<Atomic>& control, CacheNumber number) noexcept {
    const CacheRecord<Atomic>& record = control.cache(number);
    return record.is_at_work.load(std::memory_order_seq_cst) == 0 &&
           record.pending.load(std::memory_order_acquire) == 0;
}

}  // namespace acp::heap
