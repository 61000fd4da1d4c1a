// SPDX-License-Identifier: BSD-3-Clause
// A fence for programs that see the public headers alone: base::fence, which ThreadSanitizer
// follows, of the library. Any thread.
#pragma once

#include <atomic>

namespace acp::test {

// A seq_cst fence.
inline void fence() noexcept {
#if defined(__SANITIZE_THREAD__)
    static std::atomic<unsigned> word{0};
    word.fetch_add(0, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace acp::test
