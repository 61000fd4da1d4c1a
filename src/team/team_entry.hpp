// SPDX-License-Identifier: BSD-3-Clause
// What a handle of a team names: the team, its memory and its non-blocking calls, and the lock that says which thread uses them. Any thread.
// Tests: tests/conformance/team_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "message/slots.hpp"
#include "os/cpu.hpp"
#include "team/call_lock.hpp"
#include "team/call_queue.hpp"
#include "team/team.hpp"
#include "team/team_memory.hpp"

namespace acp::team {

struct TeamEntry {
    static constexpr message::SlotKind slot_kind = message::SlotKind::team;
    message::SlotEntry slot;
    CallLock lock;
    bool is_listed = false;  // in AllCalls, whose lock guards it
    std::unique_ptr<Team> team;
    CallQueue calls;
    TeamMemory memory;
    std::uint64_t allocations = 0;        // how many were begun, the same on all members
    std::atomic<std::uint32_t> looks{0};  // TeamLook: how many are there

    // For whoever has hidden the entry: nobody looks at the team when this returns. Looks are short.
    void await_looks() const noexcept {
        // seq_cst: between hiding the handle and the count; partner: TeamLook()
        std::atomic_thread_fence(std::memory_order_seq_cst);
        // acquire: what those who looked have read; partner: ~TeamLook()
        while (looks.load(std::memory_order_acquire) != 0) os::yield_cpu();
    }
};

// A look at a team that another thread may be in a call on. The team is not freed meanwhile.
class TeamLook {
public:
    //   entry  that the handle was found at; nullptr: none
    TeamLook(TeamEntry* entry, message::SlotHandle handle) noexcept : entry_(entry) {
        if (entry == nullptr) return;
        entry->looks.fetch_add(1, std::memory_order_relaxed);
        // seq_cst: between the count and the look at the handle; partner: await_looks()
        std::atomic_thread_fence(std::memory_order_seq_cst);
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
