// SPDX-License-Identifier: BSD-3-Clause
// std::atomic_thread_fence in a form that ThreadSanitizer follows. Has no state. Any thread.
#pragma once

#include <atomic>

namespace acp::base {

// Orders the loads and stores before it and those after it as std::atomic_thread_fence(order) does.
// ThreadSanitizer knows no fences; for it a read-modify-write of one word of the process stands
// here, which orders more.
inline void fence(std::memory_order order) noexcept {
#if defined(__SANITIZE_THREAD__)
    static std::atomic<unsigned> word{0};
    (void)order;
    word.fetch_add(0, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(order);
#endif
}

}  // namespace acp::base
