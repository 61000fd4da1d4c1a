// SPDX-License-Identifier: BSD-3-Clause
// Makes progress on the non-blocking calls of all teams of a process.
#include "team/all_calls.hpp"

#include <algorithm>

#include "node/wait.hpp"

namespace acp::team {

void AllCalls::add(TeamEntry& entry) {
    const std::scoped_lock lock(mutex_);
    if (entry.is_listed) return;
    entries_.push_back(&entry);
    entry.is_listed = true;
    count_begun();
}

void AllCalls::remove(TeamEntry& entry) noexcept {
    const std::scoped_lock lock(mutex_);
    if (!entry.is_listed) return;
    entries_.erase(std::find(entries_.begin(), entries_.end(), &entry));
    entry.is_listed = false;
    ++removals_;
    count_ended();
}

void AllCalls::go_on_with(TeamEntry& entry, bool is_thorough) noexcept {
    // Another thread of this process may sleep until a call ends that has just ended here.
    if (entry.calls.go_on(*entry.team, is_thorough)) wake_waiters();
}

void AllCalls::wake_waiters() noexcept {
    const local::Space& space = gma_.space();
    node::ring_bell(space.segment().slot(space.slot_of(space.process())).door.waiter_bell);
}

// Locks the next team of a pass and returns it; nullptr: the pass is over. Skips teams that another
// thread has locked for a call: that thread makes progress on their calls. A team that another
// thread has locked for a moment is skipped too, unless the caller sleeps next: then it waits for
// that lock, because an event may have arrived after the other thread's poll.
TeamEntry* AllCalls::lock_next(Pass& pass, bool is_thorough) noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (pass.removals != removals_) pass = {0, removals_};
        if (pass.place >= entries_.size()) return nullptr;
        TeamEntry& entry = *entries_[pass.place];
        const CallLock::Use found = entry.lock.try_lock(CallLock::Use::moment);
        if (found != CallLock::Use::moment || !is_thorough) ++pass.place;
        if (found == CallLock::Use::none) return &entry;
        if (found == CallLock::Use::call || !is_thorough) continue;
        lock.unlock();
        os::yield_cpu();
        lock.lock();
    }
}

void AllCalls::go_on(bool is_thorough) noexcept {
    Pass pass;
    while (TeamEntry* const entry = lock_next(pass, is_thorough)) {
        go_on_with(*entry, is_thorough);
        if (entry->calls.is_empty()) remove(*entry);
        entry->lock.unlock();
    }
}

void AllCalls::announce(node::AwaitedEntry& told, std::uint64_t since_ns) {
    const std::scoped_lock lock(mutex_);
    for (TeamEntry* const entry : entries_) {
        if (entry->lock.try_lock(CallLock::Use::moment) != CallLock::Use::none) continue;
        entry->team->announce_stopped(told, since_ns);
        entry->lock.unlock();
    }
}

void AllCalls::end_epoch() noexcept {
    while (!entries_.empty()) {
        TeamEntry& entry = *entries_.back();
        if (!entry.calls.is_empty()) entry.team->end_epoch();
        (void)entry.calls.go_on(*entry.team, false);
        remove(entry);
    }
}

}  // namespace acp::team
