// SPDX-License-Identifier: BSD-3-Clause
// The lock of a channel's end: biased to the thread that first sends or receives with it
// (sync/biased_lock.hpp), as one thread uses most ends. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "os/cpu.hpp"
#include "os/membarrier.hpp"
#include "sync/biased_lock.hpp"

namespace acp::message {

struct EndLockPlatform {
    template <typename T>
    using Atomic = std::atomic<T>;
    using Mutex = std::mutex;

    // The address of a thread-local variable. A later thread with the same address takes the place
    // of a dead one.
    static std::uint64_t self() noexcept {
        return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
    }

    // Channels adopts a lock only if the kernel has this barrier.
    static void expedite() noexcept { (void)os::expedite(); }

    static void pause() noexcept { os::yield_cpu(); }
};

using EndLock = sync::BiasedLock<EndLockPlatform>;

}  // namespace acp::message
