#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into vectors and deques."""
import sys

from plants import Plants

TESTS = ["tests/unit/sequence/sequence_test.cpp", "tests/unit/sequence/kill_test.cpp", "tests/unit/sequence/concurrency_test.cpp"]

# name: (file, text, instead)
MUTANTS = {
    "a stopped holder is taken for dead": ("reservation.hpp",
        "                is_dead ? view.operation.as(TurnState::idle, 0)",
        "                is_dead || true ? view.operation.as(TurnState::idle, 0)"),
    "a stopped holder's body stays in use": ("reservation.hpp",
        "        if (view.operation.state == TurnState::evicting && !is_dead)\n            return install_copy(head, view);\n",
        "        static_cast<void>(&Reservation::install_copy);\n"),
    "a body of later changes is put back": ("reservation.hpp", "        if (ground_.is_current(head, view)) keep_body", "        keep_body"),
    "a stopped changer is waited past": ("reservation.hpp",
        "        if (ground_.is_current(head, view)) keep_body(head, view);\n        return true;\n",
        "        std::uint64_t expected = view.operation_word;\n"
        "        (void)head.operation.compare_exchange_strong(expected, view.operation.as(TurnState::idle, 0).packed(),\n"
        "            std::memory_order_acq_rel, std::memory_order_relaxed);\n        return true;\n"),
    "who was evicted frees a body in use": ("reservation.hpp",
        "        if (is_kept) {\n            forget();\n        } else {", "        if (is_kept && view.body.block == 0) {\n        } else {"),
    "who was evicted keeps its body": ("reservation.hpp",
        "            ground_.unlink_and_free(view.body.block, forget);\n", "            forget();\n"),
    "who was evicted takes its change for done": ("reservation.hpp", "        return is_kept;\n", "        return is_kept || true;\n"),
    "who was evicted is not told": ("reservation.hpp",
        "        if (operation.state == TurnState::evicting) give_up_body(operation, body.block);\n",
        "        static_cast<void>(&Reservation::give_up_body);\n"),
    "who was evicted is told though its body is in use": ("reservation.hpp",
        "body.bit != 0 || body.block == in_use ||", "body.bit != 0 || in_use == 0 ||"),
    "the maker is not told": ("reservation.hpp", "        if (maker < ground_.participants().count) {",
        "        if (maker > ground_.participants().count) {"),
    "an installed body is freed as one that is not": ("reservation.hpp",
        "        if (!install(head, view, view.operation, body)) drop_made(copy);\n",
        "        (void)install(head, view, view.operation, body);\n        drop_made(copy);\n"),
    "a copy that is not installed stays": ("reservation.hpp",
        "        if (!install(head, view, view.operation, body)) drop_made(copy);\n",
        "        (void)install(head, view, view.operation, body);\n"),
    "the operation word is not moved on by others": ("reservation.hpp",
        "            finish(head, view.operation, view.body_word);\n        }\n    }\n",
        "            ground_.others().may_wait(0, 0);\n        }\n    }\n"),
    "the body's number stays": ("words.hpp", "return {next_bit, next_block, (number + 1) & number_mask};",
        "return {next_bit, next_block, number & number_mask};"),
    "the sequence number stays": ("words.hpp", "        operation.sequence = (sequence + 1) & mask(sequence_bits);\n", ""),
    "the holder is not told before it holds": ("reservation.hpp",
        "        held.store(held_word(view), std::memory_order_release);\n        if (enter(head, view, TurnState::held)) return true;\n",
        "        if (enter(head, view, TurnState::held)) {\n            held.store(held_word(view), std::memory_order_release);\n"
        "            return true;\n        }\n"),
    "the committed extent is written": ("sequence.hpp", "        const std::uint32_t which = 1 - view.operation.which;\n",
        "        const std::uint32_t which = view.operation.which;\n"),
    "reads are not looked at again": ("sequence.hpp",
        "            if (ground_.is_current(head, view)) return SequenceEffect::done;\n        }\n",
        "            return SequenceEffect::done;\n        }\n"),
    "a replaced body is freed before it is": ("sequence.hpp",
        "        const bool is_done = reservation_.install(head, view, view.operation, named);\n"
        "        const auto forget = [&] { replaced.store(0, std::memory_order_release); };\n        if (is_done) {\n"
        "            ground_.unlink_and_free(view.body.block, forget);\n        } else {\n",
        "        const auto forget = [&] { replaced.store(0, std::memory_order_release); };\n"
        "        ground_.unlink_and_free(view.body.block, [] {});\n"
        "        const bool is_done = reservation_.install(head, view, view.operation, named);\n"
        "        if (is_done) {\n            forget();\n        } else {\n"),
    "a replaced body stays": ("sequence.hpp", "            ground_.unlink_and_free(view.body.block, forget);\n", "            forget();\n"),
    "a body is replaced untold": ("sequence.hpp",
        "        replaced.store(Named{0, view.body.block, 0}.packed(), std::memory_order_release);\n", ""),
    "a failed change stays begun": ("sequence.hpp", "            reservation_.keep_body(head, view);\n", ""),
    "a change is not begun": ("sequence.hpp", "        if (!reservation_.begin_change(head, view)) return Attempt::again;\n",
        "        if (!reservation_.hold(head, view)) return Attempt::again;\n"),
    "a pop does not hold": ("sequence.hpp",
        "        if (!reservation_.hold(head, view)) return Attempt::again;\n        const std::uint64_t left = view.bytes - removed;\n",
        "        const std::uint64_t left = view.bytes - removed;\n"),
    "a splice that removes more is taken for one at the end": ("sequence.hpp",
        "        return splice.added == 0 && splice.capacity_least <= view.capacity &&",
        "        return splice.capacity_least <= view.capacity &&"),
    "the dead keep the sequence": ("recovery.hpp", "            end_turn(head);\n", "            static_cast<void>(&SequenceRecovery::end_turn);\n"),
    "bodies given up to the dead stay": ("recovery.hpp",
        "            ground_.unlink_and_free(held.block, forget);\n", "            forget();\n"),
    "what the dead held is freed": ("recovery.hpp",
        "        if (held.bit != 0) {\n", "        if (held.block != 0) {\n"),
    "bodies that the dead made stay": ("recovery.hpp",
        "            ground_.unlink_and_free(made.block,\n"
        "                                    [&] { shown_.made.store(0, std::memory_order_release); });\n",
        "            shown_.made.store(0, std::memory_order_release);\n"),
    "bodies that the dead replaced stay": ("recovery.hpp",
        "            ground_.unlink_and_free(replaced.block, forget);\n", "            forget();\n"),
    "bodies that the dead did not replace are freed": ("recovery.hpp", "        if (made.block != 0) {\n",
        "        if (made.block != 0 && replaced.block == 0) {\n"),
    "heads that the dead made stay": ("recovery.hpp", "        if (word == 0) return;\n",
        "        shown_.head_made.store(0, std::memory_order_release);\n        return;\n"),
    "what the dead were freeing stays": ("recovery.hpp",
        "            table::finish_freeing(ground_.blocks(), ground_.participants(), dead_,\n"
        "                                  [&](BlockNumber block) { return is_known(block); });\n",
        "            is_known(0) || true;\n"),
    "what the dead were freeing is freed though a word leads to it": ("recovery.hpp",
        "[&](BlockNumber block) { return is_known(block); });", "[](BlockNumber block) { return block == 0; });"),
}

if __name__ == "__main__":
    sys.exit(Plants("sequence", TESTS, MUTANTS).main())
