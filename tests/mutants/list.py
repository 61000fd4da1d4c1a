#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the lists."""
import sys

from plants import Plants

TESTS = ["tests/unit/list/list_test.cpp", "tests/unit/list/kill_test.cpp", "tests/unit/list/concurrency_test.cpp",
         "tests/unit/list/bounds_test.cpp"]

# name: (file, text, instead)
MUTANTS = {
    "the mark of a position is not looked at": ("lists.hpp", "at.mark != mark::of_list(at.node) && mark_of(at.node) == at.mark;",
        "at.mark != mark::of_list(at.node) && mark_of(at.node) != 1;"),
    "a walk does not look at the link again": ("changes.hpp",
        "            link_word.load(std::memory_order_acquire) == word && (from.node == list || is_at(from));",
        "            word != 1 && (from.node == list || is_at(from));"),
    "a walk does not look at its own element again": ("changes.hpp",
        "            link_word.load(std::memory_order_acquire) == word && (from.node == list || is_at(from));",
        "            link_word.load(std::memory_order_acquire) == word;"),
    "a walk meets what is not live": ("changes.hpp", "        if (is_true && (node == list || is_at(found))) {",
        "        if (is_true) {"),
    "nobody helps": ("turns.hpp", "        if (is_held(turn_of(plan, 0), busy)) (void)finish(plan, busy);\n",
        "        if (is_held(turn_of(plan, 0), ~busy)) (void)finish(plan, busy);\n"),
    "helpers do not look whether it is still so": ("turns.hpp",
        "        if (is_held(turn_of(plan, 0), busy)) (void)finish(plan, busy);\n", "        (void)finish(plan, busy);\n"),
    "the turn is idle before the words are changed": ("turns.hpp",
        "            for (std::uint64_t i = 0; i < plan.count; ++i) change(plan.words[i]);\n            if (plan.lists[1] != 0) let_go(plan, 1, busy);\n",
        "            if (plan.lists[1] != 0) let_go(plan, 1, busy);\n            let_go(plan, 0, busy);\n"
        "            for (std::uint64_t i = 0; i < plan.count; ++i) change(plan.words[i]);\n"),
    "words are stored, not compared": ("turns.hpp",
        "        (void)ground_.word_at(word.place)\n"
        "            .compare_exchange_strong(expected, word.new_word, std::memory_order_acq_rel,\n"
        "                                     std::memory_order_acquire);",
        "        (void)expected;\n        ground_.word_at(word.place).store(word.new_word, std::memory_order_release);"),
    "the second list is not taken": ("turns.hpp",
        "            has_all = second.compare_exchange_strong(idle, busy, std::memory_order_acq_rel,\n"
        "                                                     std::memory_order_acquire) ||\n"
        "                      (idle == busy && is_held(second, busy));\n",
        "            has_all = second.load(std::memory_order_acquire) == idle;\n"),
    "each helper decides for itself": ("turns.hpp", "            is_on = decide(busy, has_all);\n",
        "            (void)decide(busy, has_all);\n            is_on = has_all;\n"),
    "an operation that is off goes on": ("turns.hpp",
        "verdict::of(number, has_all ? verdict::goes_on : verdict::is_off);", "verdict::of(number, verdict::goes_on);"),
    "an operation that is off is taken for done": ("turns.hpp", "        const bool is_done = is_begun && finish(plan, busy);",
        "        const bool is_done = is_begun && (finish(plan, busy) || true);"),
    "nothing is named": ("turns.hpp", "        own.names.store(1, std::memory_order_relaxed);\n        write(plan);\n        const std::uint64_t number",
        "        write(plan);\n        const std::uint64_t number"),
    "helpers name nothing": ("turns.hpp", "        own.names.store(1, std::memory_order_relaxed);\n        write(plan);\n        // A reclaimer of these",
        "        // A reclaimer of these"),
    "names are not looked at": ("ground.hpp", "            if (other.names.load(std::memory_order_acquire) == 0) continue;\n",
        "            if (other.names.load(std::memory_order_acquire) <= 1) continue;\n"),
    "what was made is not named": ("ground.hpp", "            note(table::made::block_in(other.made.load(std::memory_order_acquire)));\n", ""),
    "taken without telling": ("changes.hpp", "        own.taken.store(node, std::memory_order_release);\n", ""),
    "a list is destroyed without telling": ("changes.hpp", "        ground_.shown().taken.store(list, std::memory_order_release);\n", ""),
    "a list that is not empty is destroyed": ("changes.hpp", "        if (neighbour_in(list, Field::next) != list) continue;\n", ""),
    "freed by whoever recovers, claimed or not": ("recovery.hpp", "mark::is_claimed_by(mark_of(taken), dead) && ", "taken != 1 && "),
    "listed twice": ("recovery.hpp", " && !retired_.has(dead, taken)) {", ") {"),
    "the operation of a dead one is not carried out": ("recovery.hpp", "        turns_.help(busy);\n", ""),
    "what a dead one made stays": ("recovery.hpp",
        "        ground_.unlink_and_free(node, table::Spare::second_word, forget);\n", "        forget();\n"),
    "what a dead one has put in is freed": ("recovery.hpp", "|| mark::is_made_by(mark_of(node), dead));", "|| mark_of(node) != 1);"),
    "bytes apart of a dead one stay": ("recovery.hpp",
        "    if (apart == 0 || is_linked || !ground_.unlink_and_free_apart(apart, forget_apart))\n", "    if (is_linked || !is_linked)\n"),
    "bytes apart of an element of a dead one are freed": ("recovery.hpp",
        "    if (apart == 0 || is_linked || !ground_", "    if (apart == 0 || (is_linked && apart == 0) || !ground_"),
    "bytes apart of what a dead one took stay": ("recovery.hpp", "        (void)free_payload(taken);\n", ""),
    "what a dead one retired stays": ("recovery.hpp", "    const bool is_done = scan(dead) && ", "    const bool is_done = "),
    "what a dead one was freeing stays": ("recovery.hpp",
        "        table::finish_freeing<Atomic>(ground_.blocks(), ground_.participants(), dead, is_known);\n",
        "        is_known(0) || true;\n"),
    "what a dead one was freeing is freed though a word leads to it": ("recovery.hpp",
        "        return shown.has_made(block) || shown.taken", "        return shown.taken"),
    "what a dead one was freeing is freed though it is in its list": ("recovery.hpp",
        "shown.taken.load(std::memory_order_acquire) == block ||\n               retired_.has(dead, block);",
        "shown.taken.load(std::memory_order_acquire) == block;"),
    "bytes apart that a dead one was freeing stay": ("ground.hpp",
        "                (void)blocks_.free_apart(address);\n", ""),
    "bytes apart that somebody else has by now are freed": ("ground.hpp", """\
            if (blocks_.is_apart_kept(address) && first->load(std::memory_order_acquire) ==
                                                      table::freeing::signature(address, dead)) {
""", "            if (blocks_.is_apart_kept(address)) {\n"),
    "bytes apart that are freed already are freed": ("ground.hpp", "blocks_.is_apart_kept(address) && first", "first"),
    "bytes apart are freed before those that a dead one was recovering": ("ground.hpp",
        "            if (table::is_recovering(participants_, dead)) return false;\n", ""),
    "bytes apart to which a word leads are freed": ("ground.hpp",
        "        if (first != nullptr && !is_known(address)) {\n", "        if (first != nullptr) {\n            static_cast<void>(is_known);\n"),
    "an element keeps its mark in another list": ("changes.hpp",
        "    plan.add({place::of(node, Field::mark), transit_of(moved.mark), moved.mark});\n",
        "    plan.add({place::of(node, Field::mark), transit_of(moved.mark), moving.element.mark});\n    moved = moving.element;\n"),
    "its new mark comes first": ("changes.hpp",
        "        plan.add({place::of(node, Field::mark), moving.element.mark, transit_of(moved.mark)});\n",
        "        plan.add({place::of(node, Field::mark), moving.element.mark, moved.mark});\n"),
    "the size is not counted": ("changes.hpp", "    recount(plan, moving.to, 1);\n", ""),
    "the way back is not linked": ("lists.hpp", "        relink(plan, after, Field::previous, before);\n", ""),
}

if __name__ == "__main__":
    sys.exit(Plants("list", TESTS, MUTANTS).main())
