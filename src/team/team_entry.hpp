// SPDX-License-Identifier: BSD-3-Clause
// What a handle of a team names: the team, its memory and its non-blocking calls, and the lock that says which thread uses them. Any thread.
// Tests: tests/unit/team/team_lock_test.cpp, tests/conformance/team_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "message/slots.hpp"
#include "os/cpu.hpp"
#include "team/call_queue.hpp"
#include "team/team.hpp"
#include "team/team_memory.hpp"

namespace acp::team {

// Held by one thread for a call that may block, or for a moment. Nobody waits for a thread in a call: two calls on a team at once are a
// mistake of the program, and a thread in a call moves on the non-blocking ones too. For a moment each waits.
class TeamLock {
public:
    enum class Use : std::uint8_t { none, call, moment };

    // How another thread holds it; none: the caller holds it now.
    [[nodiscard]] Use try_lock(Use use) noexcept {
        Use found = Use::none;
        // acquire: what the thread before did with the team; partner: unlock()
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

struct TeamEntry {
    static constexpr message::SlotKind slot_kind = message::SlotKind::team;
    message::SlotEntry slot;
    TeamLock lock;
    bool is_listed = false;  // in AllCalls, whose lock guards it
    std::unique_ptr<Team> team;
    CallQueue calls;
    TeamMemory memory;
    std::uint64_t allocations = 0;  // how many were begun, the same on all members
};

}  // namespace acp::team
