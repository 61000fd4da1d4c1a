// SPDX-License-Identifier: BSD-3-Clause
// The lock of a team or plan, which one thread at a time uses: held for a call, which may block, or
// for a moment. A thread does not wait for a lock that is held for a call: two calls at once are an
// error of the program, and the thread in the call makes progress on all work of the locked object.
// A thread waits for a lock that is held for a moment. Any thread.
// Tests: tests/unit/team/call_lock_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/cpu.hpp"

namespace acp::team {

class CallLock {
public:
    enum class Use : std::uint8_t { none, call, moment };

    // Takes the lock if it is free. Returns how another thread holds it; none: the caller holds it
    // now.
    [[nodiscard]] Use try_lock(Use use) noexcept {
        Use found = Use::none;
        // acquire: makes the previous holder's writes visible; partner: unlock()
        use_.compare_exchange_strong(found, use, std::memory_order_acquire,
                                     std::memory_order_relaxed);
        return found;
    }

    // Takes the lock. False: another thread is in a call.
    [[nodiscard]] bool lock(Use use) noexcept {
        for (;;) {
            const Use found = try_lock(use);
            if (found == Use::none) [[likely]]
                return true;
            if (found == Use::call) return false;
            os::yield_cpu();
        }
    }

    void unlock() noexcept { use_.store(Use::none, std::memory_order_release); }

private:
    std::atomic<Use> use_{Use::none};
};

}  // namespace acp::team
