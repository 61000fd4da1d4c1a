#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the heap."""
import sys

from plants import Plants

TESTS = [f"tests/unit/heap/{name}_test.cpp" for name in ("heap", "full_heap", "free_areas", "loans", "kill", "concurrency")]

# name: (file, text, instead)
MUTANTS = {
    "block pending too late": ("spans.hpp", """\
            record.pending.store(block + 1, std::memory_order_relaxed);
            // acq_rel: the freeing thread's writes to the block come before; partner: free()
            word.fetch_and(~(std::uint64_t{1} << bit), std::memory_order_acq_rel);
""", """\
            word.fetch_and(~(std::uint64_t{1} << bit), std::memory_order_acq_rel);
            record.pending.store(block + 1, std::memory_order_relaxed);
"""),
    "large block pending too late": ("large_blocks.hpp", """\
        control_.cache(cache.number())
            .pending.store(offset_of(head) + 1, std::memory_order_relaxed);
        units_.store(head, {UnitState::large, 0, 0, 0, whole});
""", """\
        units_.store(head, {UnitState::large, 0, 0, 0, whole});
        control_.cache(cache.number())
            .pending.store(offset_of(head) + 1, std::memory_order_relaxed);
"""),
    "pending block of a span forgotten": ("spans.hpp", "        free_pending(dead, head, size_class);\n", ""),
    "pending large block forgotten": ("heap.hpp", "            large_.free_pending(number);\n", ""),
    "freed without saying where": ("spans.hpp", """\
        record_of(cache).freed_to.store(head + 1, std::memory_order_relaxed);
        // seq_cst: ordered before the load""", "        // seq_cst: ordered before the load"),
    "taken out of the index without saying so": ("spans.hpp",
        "            freed_to.store(unit + 1, std::memory_order_relaxed);\n", "            static_cast<void>(unit);\n"),
    "given up without a look": ("spans.hpp", """std::memory_order_seq_cst);
        return note_room(cache, head, size_class);""", "std::memory_order_seq_cst);\n        return false;"),
    "closed without a second look": ("spans.hpp",
        "            if (is_empty(head, size)) return close(cache, head, size_class);\n            return release",
        "            if (size.words != 0) return close(cache, head, size_class);\n            return release"),
    "held without asking": ("spans.hpp", """\
        if (!change(head, unheld(size_class), held(cache, size_class))) return false;""", """\
        const UnitWord now = units_.word(head);
        if (now.state != UnitState::span || !change(head, now, held(cache, size_class))) return false;"""),
    "a span of few free blocks is not noted": ("spans.hpp", "        } else {\n            rest_.add(size_class, head);\n        }\n", "        }\n"),
    "room is said to be noted": ("spans.hpp", " && room_.has(size_class, head);", " && head != no_unit;"),
    "an empty span is said to be noted": ("spans.hpp", "return bits != size.full_word(word) && room_", "return bits != 0 && room_"),
    "recovery notes no held span": ("units.hpp", "            if (is_held(unit)) note_held(unit);\n", ""),
    "a new span is not noted as held": ("spans.hpp", "        units_.note_held(head);\n        return head;\n", "        return head;\n"),
    "a run of areas ends at each word": ("free_areas.hpp", "            begin = area + word_bits - trailing;\n",
                                         "            begin = area + word_bits;\n"),
    "an area given up is not noted as free": ("units.hpp", "            if ((before & ~mask) == 0) free_areas_.note_free(area);\n",
                                              "            static_cast<void>(before);\n"),
    "an area that the dead gave up stays noted as busy": ("units.hpp", "            free_areas_.note_free(area);\n        }\n", "        }\n"),
    "stolen from a call at work": ("spans.hpp", "is_ordered && is_idle(control_, word.holder - 1);", "is_ordered;"),
    "stolen with a block that is not kept": ("at_work.hpp", """\
    return record.is_at_work.load(std::memory_order_seq_cst) == 0 &&
           record.pending.load(std::memory_order_acquire) == 0;""", """\
    return record.is_at_work.load(std::memory_order_seq_cst) == 0;"""),
    "theft unnoticed": ("spans.hpp", """\
        (void)hold.drop();
        return false;""", """\
        return true;"""),
    "at work without order": ("at_work.hpp", "is_at_work_.exchange(1, std::memory_order_seq_cst);",
                              "is_at_work_.store(1, std::memory_order_relaxed);"),
    "theft of the dead not undone": ("heap.hpp", "                spans_.undo_theft(unit, word);\n", ""),
    "forgotten span not found again": ("spans.hpp", """\
                release(cache, unit, word.size_class);
                marked.is_forgotten = true;""", """\
                marked.is_forgotten = true;"""),
    "a faster thief unseen": ("spans.hpp",
        "marked.is_other_at_work = marked.is_other_at_work || !is_mine;", "static_cast<void>(is_mine);"),
    "bits cleared without a second look": ("units.hpp",
        "            const std::uint64_t claimed = claimed_of(area, mask);\n", "            const std::uint64_t claimed = 0;\n"),
    "freed without order": ("spans.hpp", "word.fetch_or(mask, std::memory_order_seq_cst);",
                            "word.fetch_or(mask, std::memory_order_relaxed);"),
    "double free unseen": ("spans.hpp", "if ((before & mask) != 0) [[unlikely]]",
                           "if ((before & mask) != 0 && size_class == 127) [[unlikely]]"),
    "given up from the first unit on": ("units.hpp", "for (std::uint32_t unit = end; unit-- > head;) {",
                                        "for (std::uint32_t unit = head; unit < end; ++unit) {"),
    "all units of a run taken for its parts": ("units.hpp",
        "        while (end < head + what.units && is_part_of(end, head, what, holder)) ++end;\n",
        "        end = head + what.units;\n        static_cast<void>(&Units::is_part_of);\n"),
    "claimed without asking": ("units.hpp", "            std::uint64_t expected = 0;\n            // seq_cst: partner",
                               "            std::uint64_t expected = control_.unit(head + i).load(std::memory_order_relaxed);\n"
                               "            // seq_cst: partner"),
    "claimed units of the dead forgotten": ("heap.hpp", "                return units_.give_up_claimed(unit);",
                                            "                return;"),
    "free units not found again": ("heap.hpp", "        units_.repair_bits();\n", ""),
    # Loans.
    "a loan is anybody's": ("loans.hpp", "std::uint64_t{process} + 1) << number_bits | block", "std::uint64_t{process != ~0U}) << number_bits | block"),
    "a loan that is held is ended": ("loans.hpp", "if (loan == 0 || (loan & held) != 0 || !is_gone", "if (loan == 0 || !is_gone"),
    "a loan that ended was held for nothing": ("loans.hpp",
        "        (void)change(packed(block, process) | held, 0);\n", "        let_go(block, process);\n"),
    "a block is lent and its loan written over": ("loans.hpp",
        "            if (words_[i].load(std::memory_order_relaxed) == 0 &&\n", "            none = words_[i].load(std::memory_order_relaxed);\n            if ("),
    "ended for one that is gone, but not freed": ("loans.hpp", "begin_to_end(i, loan)) end_at(i, free);",
        "begin_to_end(i, loan)) words_[i].store(0, std::memory_order_release);"),
}

if __name__ == "__main__":
    sys.exit(Plants("heap", TESTS, MUTANTS).main())
