#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the lock that outlives its holders, and into how threads take it, wait for it and release it."""
import sys

from plants import ROOT, Plants

TESTS = [f"tests/unit/sync/{name}_test.cpp" for name in ("queued_lock", "far_waiter", "lock_bytes")]

# name: (file, text, instead)
MUTANTS = {
    "a held lock is taken": ("queued_lock.hpp", "        return !state.is_held() && head.state.compare_exchange_strong(", "        return head.state.compare_exchange_strong("),
    "a release forgets the waiters": ("queued_lock.hpp", "        return state.waiters == 0 && state.process_plus_1 == me.process + 1 &&",
                                      "        return state.process_plus_1 == me.process + 1 &&"),
    "a lock is taken past its waiters": ("queued_lock.hpp", "if (!state.is_held() || (is_orphaned && state.waiters == 0)) {", "if (!state.is_held() || is_orphaned) {"),
    "a death is not told": ("queued_lock.hpp", "return told(answer, taken_if(is_orphaned));", "return told(answer, taken_if(false));"),
    "a death is told to each later holder": ("queued_lock.hpp", "state.advanced().held_by(first.party, has_died)", "state.advanced().held_by(first.party, has_died || state.died != 0)"),
    "a waiter that does not wait leaves an orphan": ("queued_lock.hpp", "                if (is_orphaned) recover(answer.grant, is_gone);\n", ""),
    "a thread may take its lock twice": ("queued_lock.hpp", "if (state.holder() == me.process && state.thread == me.thread &&\n", "if (state.holder() == me.process && state.thread > me.thread &&\n"),
    "another thread may release": ("queued_lock.hpp", "return state.holder() == me.process && !is_of_other;", "return state.holder() == me.process;"),
    "another process may release": ("queued_lock.hpp", "return state.holder() == me.process && !is_of_other;", "return !is_of_other;"),
    "a waiter that left is granted": ("queued_lock.hpp",
        "            case LockWaiterState::cancelled:\n                (void)becomes(LockWaiterState::skipped);\n                return false;\n",
        "            case LockWaiterState::cancelled:\n                (void)becomes(LockWaiterState::granted);\n                return false;\n"),
    "a dead waiter is granted": ("queued_lock.hpp", "if (is_gone(first.party.process)) {", "if (first.ticket != state.head) {"),
    "a waiter does not complete its grant": ("queued_lock.hpp", "if (state.waiters != 0 && (is_dead || is_granted_now(first, state))) {", "if (state.waiters != 0 && is_dead) {"),
    "a waiter does not look for a dead holder": ("queued_lock.hpp", "if (state.waiters != 0 && (is_dead || is_granted_now(first, state))) {",
                                                 "if (state.waiters != 0 && is_granted_now(first, state)) {"),
    "a waiter that left had the lock": ("queued_lock.hpp", "        return poll(me, ticket, is_gone);\n    }\n\n    // Whether", "        LockAnswer gone;\n        return told(gone, LockOutcome::left);\n    }\n\n    // Whether"),
    "an uncounted waiter is not counted": ("queued_lock.hpp", "            (void)change(word, counted);\n            return false;", "            return false;"),
    "a full queue takes one more": ("queued_lock.hpp", "if (state.waiters >= count_ - 1) {", "if (state.waiters >= count_) {"),
    "places of waiters that left are lost": ("queued_lock.hpp", "                if (take_over_from_end(i)) return true;\n            }\n", "            }\n"),
    "a dead waiter keeps its place": ("queued_lock.hpp", "(before.state == LockWaiterState::waiting && is_gone(before.party.process));", "before.ticket != ticket;"),
    "a released lock is waited for": ("queued_lock.hpp", "            if (!state.is_held()) {\n                LockState taken", "            if (false && !state.is_held()) {\n                LockState taken"),
    "a held lock is freed": ("queued_lock.hpp", "        return is_free && state.waiters == 0 && change(word, LockState::freed());", "        return state.waiters == 0 && change(word, LockState::freed());"),
    "an awaited lock is freed": ("queued_lock.hpp", "        return is_free && state.waiters == 0 && change(word, LockState::freed());", "        return is_free && change(word, LockState::freed());"),
    "a granted waiter died, and none looks": ("queued_lock.hpp", "            finish(state.head, answer.grant, is_gone);\n            recover(answer.grant, is_gone);\n", "            finish(state.head, answer.grant, is_gone);\n"),
    "a late notification grants a later wait": ("grant_word.hpp", "return change(GrantState::before(value), value); }", "return change(word_.load(std::memory_order_relaxed), value); }"),
    "two waits have one number": ("grant_word.hpp", "(before >> 2U) + 1;", "1;"),
    "a wait begins granted": ("grant_word.hpp", "before, number << 2U, std::memory_order_acq_rel,", "before, number << 2U | 1U, std::memory_order_acq_rel,"),
    "a place keeps the number of an earlier wait": ("queued_lock.hpp", "        place.grant_number.store(notice.number, std::memory_order_relaxed);\n", ""),
    "a refused release leaves a place in the queue": ("queued_lock.hpp", "if (!withdraw(state, me, is_gone)) return told(answer, LockOutcome::not_holder);",
                                                      "return told(answer, LockOutcome::not_holder);"),
    "a refused release cancels places of threads that share its number": ("queued_lock.hpp", "        if (me.thread == lock_thread_shared) return false;\n", ""),
    "a refused release overlooks an uncounted place": ("queued_lock.hpp", "for (std::uint32_t i = 0; i <= state.waiters; ++i) {  // the", "for (std::uint32_t i = 0; i < state.waiters; ++i) {  // the"),
    "a refused release cancels places of other threads": ("queued_lock.hpp", "                waiter.party.thread != me.thread) {\n                continue;", "                false) {\n                continue;"),
    "a release of a granted place is refused": ("queued_lock.hpp", "if (is_waiting || waiter.state == LockWaiterState::granted) {", "if (is_waiting) {"),
}

# Of the bytes that travel with a lock.
MUTANTS |= {
    "a publication overwrites the newest bytes": ("lock_bytes.hpp", "std::memcpy(slot(version), from.data()", "std::memcpy(slot(version - 1), from.data()"),
    "a publication is seen before its bytes": ("lock_bytes.hpp", "        std::memcpy(slot(version), from.data(), from.size());\n        head_->version.store(version, std::memory_order_release);",
        "        head_->version.store(version, std::memory_order_release);\n        std::memcpy(slot(version), from.data(), from.size() / 2);"),
    "a release publishes after another thread may hold the lock": ("queued_lock.hpp", "                publish();\n                return pass_on(answer, is_gone);",
        "                LockAnswer passed = pass_on(answer, is_gone);\n                publish();\n                return passed;"),
    "a thread that does not hold the lock publishes": ("queued_lock.hpp", "            if (is_of(state, me)) {\n                publish();", "            publish();\n            if (is_of(state, me)) {"),
    "a wait begins in a room that another thread writes": ("grant_word.hpp", "            if ((before & 3U) == GrantState::receiving) return 0;\n", ""),
    "two grants write one room": ("grant_word.hpp", "        if (!change(GrantState::before(value), claimed)) return false;\n        write();\n",
        "        write();\n        if (!change(GrantState::before(value), claimed)) return false;\n"),
}

CALL_TESTS = [f"tests/unit/lock/{name}_test.cpp" for name in ("grant_words", "locks", "far_locks", "bound_locks", "move_leases")]
CALL_TESTS += ["tests/support/refuse_memory.cpp"]
CALL_SOURCES = tuple(sorted(path.name for path in (ROOT / "src/lock").glob("*.cpp")))
CALL_LAYERS = ("claims", "pm", "team", "message", "operations", "data", "gma", "allocator", "remote", "local", "node", "hash", "pages", "os", "base")

# name: (file, text, instead)
CALL_MUTANTS = {
    "the answer before a sleep is lost": ("locks.cpp", "        if (must_return()) return gma::LookResult::all;\n", ""),
    "the next holder on another node is not notified": ("locks.cpp", "    (void)data::ask(gma_, call);\n", ""),
    "a step that others disturb is not repeated": ("locks.cpp", "if (returned.value().output.outcome != LockOutcome::again)", "if (true)"),
    "a thread without a grant word joins the queue": ("locks.cpp", "timeout_ns != 0 && no_word.is_ok();", "timeout_ns != 0;"),
    "a thread without a grant word is not refused": ("locks.cpp", "            if (!no_word.is_ok()) return no_word;\n", ""),
    "a try needs a grant word": ("locks.cpp", "if (!is_here && timeout_ns != 0) {", "if (!is_here) {"),
    "a wait that fails stays in the queue": ("locks.cpp", "            auto left = leave(waiting);\n"
        "            if (left.is_ok() && left.value().has_lock) return left;\n", ""),
    "a wait that fails after the grant has not the lock": ("locks.cpp", "            if (left.is_ok() && left.value().has_lock) return left;\n", ""),
    "a thread whose time is over stays in the queue": ("locks.cpp", "if (waiting.deadline.is_past()) return leave(waiting);",
        "if (waiting.deadline.is_past()) return TakeResult{};"),
    "a notification hides the death of the holder": ("locks.cpp", "{true, waiting.grant_word.has_died()}", "{true, false}"),
    "an answer hides the death of the holder": ("locks.cpp", "return {has_lock(reply), reply.outcome == LockOutcome::taken_from_dead};",
        "return {has_lock(reply), false};"),
    "the lock of a dead holder is not taken": ("locks.cpp",
        "reply.outcome == LockOutcome::taken || reply.outcome == LockOutcome::taken_from_dead;", "reply.outcome == LockOutcome::taken;"),
    "a thread of the rank is not told from other ranks": ("locks.cpp", "            holder == gma_.space().process()\n", "            false\n"),
    "the holder of a free lock is named": ("locks.cpp", "    if (holder == LockGrant::no_process) return {Code::state, \"no thread holds the lock\"};\n", ""),
    "a lock is made without room": ("locks.cpp", "    if (made.value().output.lock == 0) return allocator_.no_room(process, 0);\n", ""),
    "the wait of another number is granted": ("locks.cpp", "grant_word.address(), grant_word.number()},", "grant_word.address(), 1},"),
    "a waiter polls another place": ("locks.cpp", "    waiting.call.ticket = waiting.last.ticket;\n", ""),
    "a freed lock is described as nothing": ("locks.cpp", "if (failure.code() != Code::stale && failure.code() != Code::address) return failure;", "return failure;"),
    "a wait is not shown between two sleeps": ("locks.cpp", "(void)gma_.wait_until(condition, slice_ns, false, &shown);",
        "(void)gma_.wait_until(condition, slice_ns, false, nullptr);"),
    "a held lock is freed without a word": ("locks.cpp",
        "    if (reply.value().outcome == LockOutcome::released) return {};\n    const std::uint32_t holder", "    return {};\n    const std::uint32_t holder"),
    "each wait takes new memory": ("grant_words.cpp", "for (std::size_t i = idle_.size(); i != 0; --i) {", "for (std::size_t i = 0; i != 0; --i) {"),
    "bytes of a notification are ignored": ("locks.cpp", "if (!bytes.empty() && !waiting.wanted.empty()) {", "if (false) {"),
    "a notification after a death brings the bytes of the caller": ("locks.cpp", "    if (!has_died) call.tail[0] = bytes;\n", "    call.tail[0] = bytes;\n"),
    "bytes that did not come are not read": ("locks.cpp", "    if (waiting.bytes.received == 0) {\n", "    if (false) {\n"),
    "a lock with other bytes stays taken": ("locks.cpp", "        (void)release(waiting.call.lock);\n        return status;", "        return status;"),
}

if __name__ == "__main__":
    ends = [Plants("sync", TESTS, MUTANTS).main(), Plants("lock", CALL_TESTS, CALL_MUTANTS, CALL_SOURCES, CALL_LAYERS).main()]
    sys.exit(max(ends))
