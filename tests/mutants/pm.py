#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into PM messages: contexts, waits, locked memory."""
import sys

from plants import ROOT, Plants

TESTS = [f"tests/unit/pm/{name}_test.cpp" for name in ("context", "contexts", "registrations", "waits")]
TESTS += ["tests/support/refuse_memory.cpp"]
SOURCES = tuple(sorted(path.name for path in (ROOT / "src/pm").glob("*.cpp")))
LAYERS = ("claims", "team", "message", "data", "gma", "operations", "allocator", "remote", "mailbox", "local", "node", "hash", "pages", "os", "base")

# name: (file, text, instead)
MUTANTS = {
    "a closed context still takes messages": ("context.cpp", "address_ | pool_closed, std::memory_order_release", "address_, std::memory_order_release"),
    "closing keeps the message that is composed": ("context.cpp",
        "    if (OutletSlot* const to = std::exchange(reserved_, nullptr); to != nullptr) to->cancel();\n", ""),
    "closing keeps the message that was found": ("context.cpp", "    ready_ = {};\n    after_select();", "    after_select();"),
    "outlets to the dead are kept": ("context.cpp", "            outlets_.forget_gone();\n", ""),
    "a death is reported before the last messages": ("context.cpp", "    if (ready_.data != nullptr) return std::nullopt;\n", ""),
    "a death is reported for ever": ("context.cpp", "    told_gone_.note(gone);\n", ""),
    "only one of several deaths is reported": ("context.cpp", "    told_gone_.note(gone);\n",
        "    told_gone_.note(gone);\n    deaths_seen_ = deaths();\n"),
    "a dead destination may have room later": ("context.cpp", "if (host_.is_gone(process) || is_cut_off)", "if (is_cut_off)"),
    "a closed destination may have room later": ("context.cpp", "    if (is_closed) {\n        return {Code::stale", "    if (false) {\n        return {Code::stale"),
    "a message that has come does not prevent a sleep in poll": ("context.cpp", "if (has_message() || has_gone() || ", "if ("),
    "opening wakes no sender": ("context.cpp", "    host_.ring_all();  // senders may wait for room here\n", ""),
    "closing wakes no sender": ("context.cpp", "    host_.ring_all();  // senders that wait for room here must fail\n", ""),
    "a number is opened twice": ("contexts.cpp", "    if (entry.handle != 0)\n", "    if (false)\n"),
    "a failed opening keeps its block": ("contexts.cpp", """        } catch (...) {
            (void)allocator_.free(block.value());""", "        } catch (...) {"),
    "a handle is used again": ("contexts.cpp", "entry.handle = ++opened_ << 8 | (number + 1);", "entry.handle = 1 << 8 | (number + 1);"),
    "a closed handle stays": ("contexts.cpp", "    entries_[number_of(handle)].handle = 0;\n", ""),
    "the first unlock ends the registration": ("registrations.cpp", "if (--locked.users != 0) return {};", "--locked.users;"),
    "an unlock ends no registration": ("registrations.cpp", "        (void)gma_.registry().remove(key);\n", ""),
    "the last page is not locked": ("registrations.cpp", "(first + bytes + page - 1) & ~(page - 1)", "(first + bytes) & ~(page - 1)"),
    "a lock that failed counts": ("registrations.cpp", "all_.push_back({start, end, key.value(), 0});", "all_.push_back({start, end, key.value(), 1});"),
    "a held message does not end a wait": ("waits.cpp", "    if (context.is_holding()) return true;\n", ""),
    "a death does not end a wait": ("waits.cpp", "context_.has_message() || (!context_.is_holding() && context_.has_gone());",
        "context_.has_message();"),
    "a wait for room ignores messages": ("waits.cpp", "has_news ? RoomWait::message : RoomWait::timeout", "RoomWait::timeout"),
    "a wait for room ignores why there is none": ("waits.cpp", "        if (auto why = context_.why_no_room(process_); !why.is_ok())\n",
        "        if (auto why = context_.why_no_room(process_); false)\n"),
    "outlets do not change their destination": ("outlets.cpp", "    return oldest;\n", "    return nullptr;\n"),
}

if __name__ == "__main__":
    sys.exit(Plants("pm", TESTS, MUTANTS, SOURCES, LAYERS).main())
