// SPDX-License-Identifier: BSD-3-Clause
// How a cache tells that a call uses it, so that others may take over the spans of caches that are not in use (Spans::steal_idle).
// The call stores that it is at work, then looks whether its spans are still its own; who wants a span marks it, then looks whether
// its holder is at work. Either the holder sees the mark or the other one sees that the holder is at work. Where the other one
// can make all processors pass a barrier between its store and its look, the call needs no fence.
// Tests: tests/unit/heap/kill_test.cpp, concurrency_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/control.hpp"
#include "heap/thread_cache.hpp"

namespace acp::heap {

// Makes all threads of all processes that use the heap pass a full barrier; false: it cannot now. nullptr: nobody can, and calls
// execute fences.
using OrderAll = bool (*)() noexcept;

// Lasts as long as the call.
template <template <class> class Atomic>
class AtWork {
public:
    AtWork(const Control<Atomic>& control, const ThreadCache& cache, OrderAll order_all) noexcept
        : is_at_work_(control.cache(cache.number()).is_at_work) {
        if (order_all != nullptr) [[likely]] {
            is_at_work_.store(1, std::memory_order_relaxed);
            std::atomic_signal_fence(std::memory_order_seq_cst);  // others complete the pair
        } else {
            is_at_work_.exchange(1, std::memory_order_seq_cst);  // partner: is_idle()
        }
    }

    ~AtWork() {
        // release: what the call did; partner: is_idle()
        is_at_work_.store(0, std::memory_order_release);
    }

    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;

private:
    Atomic<std::uint64_t>& is_at_work_;
};

// Whether no call uses a cache, and it has no block that its caller has not kept yet.
template <template <class> class Atomic>
[[nodiscard]] bool is_idle(const Control<Atomic>& control, CacheNumber number) noexcept {
    const CacheRecord<Atomic>& record = control.cache(number);
    return record.is_at_work.load(std::memory_order_seq_cst) == 0 &&
           record.pending.load(std::memory_order_acquire) == 0;
}

}  // namespace acp::heap
