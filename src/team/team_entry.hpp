// SPDX-License-Identifier: BSD-3-Clause
// The entry of a team's handle: the team, its memory and its non-blocking calls, and the lock by
// which one thread at a time uses them. Any thread.
// Tests: tests/conformance/team_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/fence.hpp"
#include "message/slots.hpp"
#include "os/cpu.hpp"
#include "team/call_lock.hpp"
#include "team/call_queue.hpp"
#include "team/team.hpp"
#include "team/team_memory.hpp"

namespace acp::team {

struct TeamEntry {
    static constexpr message::SlotKind slot_kind = message::slot_kind_above<0>;
    message::SlotEntry slot;
    CallLock lock;
    bool is_listed = false;  // AllCalls has it; guarded by the lock of AllCalls
    std::unique_ptr<Team> team;
    CallQueue calls;
    TeamMemory memory;
    std::uint64_t allocations = 0;        // number of allocations so far; the same on all members
    std::atomic<std::uint32_t> looks{0};  // number of TeamLooks at this entry

    // Waits until no thread reads the team through a TeamLook. The caller has hidden the entry, so
    // no new one succeeds. TeamLooks are short.
    void await_looks() const noexcept {
        // seq_cst: orders the hiding before the read of the count; partner: TeamLook()
        base::fence(std::memory_order_seq_cst);
        // acquire: the readers have finished; partner: ~TeamLook()
        while (looks.load(std::memory_order_acquire) != 0) os::yield_cpu();
    }
};

// A thread's read access to a team that another thread may be in a call on. The team is not freed
// while it lives.
class TeamLook {
public:
    //   entry  the entry of the handle; nullptr: none
    TeamLook(TeamEntry* entry, message::SlotHandle handle) noexcept : entry_(entry) {
        if (entry == nullptr) return;
        entry->looks.fetch_add(1, std::memory_order_relaxed);
        // seq_cst: orders the count before the read of the handle; partner: await_looks()
        base::fence(std::memory_order_seq_cst);
        if (!message::Slots<TeamEntry>::is_still(*entry, handle)) end();
    }

    ~TeamLook() { end(); }

    TeamLook(const TeamLook&) = delete;
    TeamLook& operator=(const TeamLook&) = delete;

    // nullptr: the team is gone.
    [[nodiscard]] TeamEntry* entry() const noexcept { return entry_; }

private:
    void end() noexcept {
        if (entry_ != nullptr) entry_->looks.fetch_sub(1, std::memory_order_release);
        entry_ = nullptr;
    }

    TeamEntry* entry_;
};

}  // namespace acp::team
