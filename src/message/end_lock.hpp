// SPDX-License-Identifier: BSD-3-Clause
// The lock of an end of a channel: biased to the thread that sends or receives with it first (sync/biased_lock.hpp), as most ends are used
// by one thread. Any thread.
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

    // The address of a variable of the thread. A later thread that has the same address takes a dead one's place.
    static std::uint64_t self() noexcept {
        return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
    }

    // Only where the kernel does it is a lock adopted; see Channels.
    static void expedite() noexcept { (void)os::expedite(); }

    static void pause() noexcept { os::yield_cpu(); }
};

using EndLock = sync::BiasedLock<EndLockPlatform>;

}  // namespace acp::message
