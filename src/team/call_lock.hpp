// SPDX-License-Identifier: BSD-3-Clause
// The lock of what one thread at a time uses, a team or a plan: held for a call that may block, or for a moment. Nobody waits for a thread in a
// call: two calls at once are a mistake of the program, and a thread in a call sees to all that is under way on what it has locked. For a moment
// each waits. Any thread.
// Tests: tests/unit/team/call_lock_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/cpu.hpp"

namespace acp::team {

class CallLock {
public:
    enum class Use : std::uint8_t { none, call, moment };

    // How another thread holds it; none: the caller holds it now.
    [[nodiscard]] Use try_lock(Use use) noexcept {
        Use found = Use::none;
        // acquire: what the thread before did; partner: unlock()
        use_.compare_exchange_strong(found, use, std::memory_order_acquire,
                                     std::memory_order_relaxed);
        return found;
    }

    // False: another thread is in a call.
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
