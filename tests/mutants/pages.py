#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into shared pages."""
import sys

from plants import Plants

TESTS = [f"tests/unit/pages/{name}_test.cpp" for name in ("difference", "page_word", "page_word_schedule", "sharers", "homes",
                                                      "notices", "clock", "barrier_decision")]

# name: (file, text, instead)
MUTANTS = {
    # Differences.
    "a word is stored for each run": ("difference.cpp", "            std::memcpy(target, bytes, 4);\n",
                                      "            std::memcpy(target, bytes, 8);\n"),
    "a difference with more bytes is accepted": ("difference.cpp", "    if (!rest.empty()) return std::nullopt;\n", ""),
    "a mask of no byte is accepted": ("difference.cpp", "if (mask == 0 || mask == all_bytes) return", "if (mask == all_bytes) return"),
    "a mask of all bytes is accepted": ("difference.cpp", "if (mask == 0 || mask == all_bytes) return", "if (mask == 0) return"),
    "a whole line that did not change is accepted": ("difference.cpp", "dirty == 0 || (whole & ~dirty) != 0", "dirty == 0"),
    "a line is read beyond the end": ("difference.cpp", "        if (rest.size() < count) return std::nullopt;\n",
                                      "        if (rest.size() < count) count = rest.size();\n"),
    "a part is longer than its room by its head": ("difference.cpp", "difference_head_bytes + end > room.size()", "end > room.size() + 8"),
    "a part has the whole lines of all parts": ("difference.cpp", "whole = whole_ & taken;", "whole = whole_;"),
    "the first bytes of a line are left out of a search": ("difference.cpp", "            place = (place / 64 + 1) * 64;", "            place += 64;"),
    "whole bytes of the page are stored": ("difference_x86_64.cpp",
        "_mm512_mask_storeu_epi8(target, mask, _mm512_maskz_expand_epi8(mask, packed));",
        "_mm512_storeu_si512(target, _mm512_mask_expand_epi8(_mm512_loadu_si512(target), mask, packed));"),
    "a shuffle packs 7 bytes of 8": ("difference_x86_64.cpp", "        target += _mm_popcnt_u32(bytes);",
                                     "        target += _mm_popcnt_u32(bytes & 127U);"),
    # Words of pages.
    "a held page is taken from a living holder": ("page_word.hpp", "                    if (!is_dead(now.who - 1)) return PageAccess::wait;\n", ""),
    "a dead fetcher's page is waited for": ("page_word.hpp", "if (!is_dead(now.who - 1)) return PageAccess::wait;",
                                            "if (!is_dead(now.who - 1) || now.epoch != ~std::uint64_t{0}) return PageAccess::wait;"),
    "a second mapping is not noted": ("page_word.hpp", "next.who = now.who == PageWord::none ? slot + 1 : PageWord::several;",
                                      "next.who = now.who == PageWord::none ? slot + 1 : now.who;"),
    "a process maps a page and does not say so": ("page_word.hpp",
        "if (now.who == slot + 1 || now.who == PageWord::several) return PageAccess::map;",
        "if (now.who != PageWord::none || slot != slots_max) return PageAccess::map;"),
    "a page that another process maps is dropped": ("page_word.hpp", "            if (now.who != PageWord::none && !is_mine && !is_dead(now.who - 1)) return std::nullopt;\n",
                                                    "            static_cast<void>(is_mine);\n"),
    "a drop is not held": ("page_word.hpp", "if (change(page, seen, {PageState::held, slot + 1, now.epoch})) return now;", "return now;"),
    "a holder ends what is another's": ("page_word.hpp", "            if (!now.is_held_by(slot)) return false;\n", "            static_cast<void>(slot);\n"),
    "the bytes are not published": ("page_word.hpp", "seen, next.packed(), std::memory_order_acq_rel,",
                                    "seen, next.packed(), std::memory_order_acquire,"),
    "the bytes are not acquired by a change": ("page_word.hpp", "seen, next.packed(), std::memory_order_acq_rel,",
                                               "seen, next.packed(), std::memory_order_release,"),
    "the bytes are not acquired by a load": ("page_word.hpp",
        "\n                                    const IsDead& is_dead) const noexcept {\n        std::uint64_t seen = words_[page].load(std::memory_order_acquire);",
        "\n                                    const IsDead& is_dead) const noexcept {\n        std::uint64_t seen = words_[page].load(std::memory_order_relaxed);"),
    "an epoch is lowered": ("page_word.hpp", "            if (next.epoch >= epoch) return;\n", "            if (next.epoch == epoch) return;\n"),
    "an epoch is lost to a fetch": ("page_word.hpp", "if (change(page, seen, {state, who, now.epoch})) return true;",
                                    "if (change(page, seen, {state, who, 0})) return true;"),
    "a notice invalidates a home": ("page_word.hpp", "            if (word.state != PageState::home) word = {PageState::absent",
                                    "            word = {PageState::absent"),
    "a lost home's copy is its own again": ("page_word.hpp", "word.who = keeps_copy ? PageWord::several", "word.who = keeps_copy ? PageWord::none"),
    # Sharers.
    "a mark is noted before it is made": ("sharers.hpp", """\
        word(page, node / 64).fetch_or(std::uint64_t{1} << node % 64, std::memory_order_relaxed);
""", """\
        marked_[page / 64].fetch_or(bit_of(page), std::memory_order_seq_cst);
        word(page, node / 64).fetch_or(std::uint64_t{1} << node % 64, std::memory_order_relaxed);
        if (page < pages_) return take_->load(std::memory_order_seq_cst);
"""),
    "a mark asks before it is made whether it is late": ("sharers.hpp", """\
        word(page, node / 64).fetch_or(std::uint64_t{1} << node % 64, std::memory_order_relaxed);
""", """\
        const std::uint64_t take = take_->load(std::memory_order_seq_cst);
        word(page, node / 64).fetch_or(std::uint64_t{1} << node % 64, std::memory_order_relaxed);
        marked_[page / 64].fetch_or(bit_of(page), std::memory_order_seq_cst);
        if (page < pages_) return take;
"""),
    "a take begins behind its marks": ("sharers.hpp", "        take_->store(epoch, std::memory_order_seq_cst);\n",
        "        take_->store(epoch, std::memory_order_relaxed);\n"),
    "a taken mark stays": ("sharers.hpp", "            word(page, i).fetch_and(~bits, std::memory_order_relaxed);\n", ""),
    "marks are taken by a load and a store": ("sharers.hpp", "word(page, i).fetch_and(~bits, std::memory_order_relaxed);",
        "word(page, i).store(0, std::memory_order_relaxed);"),
    "a repeated take finds what is marked alone": ("sharers.hpp", "            if (is_repeated) bits = group_bits(group);\n",
        "            static_cast<void>(is_repeated);\n"),
    "a taken page is not due": ("sharers.hpp", "if (!is_tracked(page)) {", "if (is_tracked(page)) {"),
    "a tracked page is due again": ("sharers.hpp", "if (!is_tracked(page)) {", "if (pages_ != 0) {"),
    "a lost page's marks stay": ("sharers.hpp", "            word(page, i).store(0, std::memory_order_relaxed);\n", "            static_cast<void>(i);\n"),
    "a lost page is tracked by its next home": ("sharers.hpp", "        tracked_[page / 64].fetch_and(~bit_of(page), std::memory_order_relaxed);\n", ""),
    "a new home resets its words": ("sharers.hpp", "        // release: the mark; partner: take(). seq_cst,",
                                    "        if (node == 2 && words_per_page_ == 1) clear(page);\n        // release: the mark; partner: take(). seq_cst,"),
    "nodes from 64 on share bits": ("sharers.hpp", "word(page, node / 64).fetch_or(", "word(page, 0).fetch_or("),
    # Homes.
    "a home moves at once": ("homes.hpp", "next.has_moved = may_move && writer == now.last_writer;",
                             "next.has_moved = may_move && writer != now.home;"),
    "a candidate stays beside other writers": ("homes.hpp", "        next.last_writer = is_candidate ? writer : no_node;",
                                               "        if (is_candidate || next.has_moved) next.last_writer = is_candidate ? writer : no_node;"),
    "a repeated decision counts twice": ("homes.hpp", "        if (now.epoch == epoch_bits) return now.has_moved;\n", ""),
    "a repeated decision returns another": ("homes.hpp", "return now.has_moved;", "return false;"),
    "every page migrates": ("homes.hpp", "        if (!now.is_migrating) return false;\n", ""),
    "a second claim wins": ("homes.hpp", "            if (next.home != no_node) return next.home;\n", ""),
    "a claim does not look whether it won": ("homes.hpp", "            if (change(page, seen, next)) return node;",
                                             "            static_cast<void>(change(page, seen, next));\n            return node;"),
    # Notices.
    "a run of no kind is accepted": ("notices.cpp", "run.kinds == 0 || ", ""),
    "a run of an unknown kind is accepted": ("notices.cpp", " || run.kinds > notice_kinds_all", ""),
    "a page is accepted twice": ("notices.cpp", "        if (run.first < end) return std::nullopt;\n", ""),
    "a run beyond the window is accepted": ("notices.cpp", "run.first > pages - run.count", "run.first > pages"),
    "a run that is cut is accepted": ("notices.cpp", "is_cut && before.count != notice_run_pages_max", "is_cut && before.count == 0"),
    "two writers are one": ("notices.cpp", "counts_[0] == 1 ?", "counts_[0] >= 1 ?"),
    "neighbours of other writers are joined": ("notices.cpp", "            before->kinds == run.kinds && before->writer == run.writer) {",
                                               "            before->kinds == run.kinds) {"),
    "neighbours of other kinds are joined": ("notices.cpp", "            before->kinds == run.kinds && before->writer == run.writer) {",
                                             "            before->writer == run.writer) {"),
    "runs with a gap are joined": ("notices.cpp", "before != nullptr && before->first + before->count == run.first &&", "before != nullptr &&"),
    "a long run is not cut": ("notices.cpp", "run.count = std::min(rest, notice_run_pages_max);", "run.count = rest;"),
    # What a barrier decides.
    "a sole writer drops its copy": ("barrier_decision.hpp", "is_shared || run.writer != node_", "true"),
    "a sole writer keeps a copy that lacks unnoticed writes": ("barrier_decision.hpp", "is_shared || run.writer != node_", "run.writer != node_"),
    "a page moves whose home wrote it unnoticed": ("barrier_decision.hpp", "epoch, !is_shared);", "epoch, is_written);"),
    "an old home stays one": ("barrier_decision.hpp", "            words_.lose_home(page, false);\n", ""),
    "an old home keeps its copy": ("barrier_decision.hpp", "words_.lose_home(page, false);", "words_.lose_home(page, true);"),
    "an old home keeps its marks": ("barrier_decision.hpp", "            sharers_.clear(page);\n", ""),
    "marks are cleared when the page is lost": ("barrier_decision.hpp", "            sharers_.clear(page);\n            words_.lose_home(page, false);\n",
        "            words_.lose_home(page, false);\n            sharers_.clear(page);\n"),
    "a page that is due stays due": ("barrier_decision.hpp", "        sharers_.end_due();\n", ""),
    # The clock.
    "a copy is counted twice": ("clock.hpp", "        if (set(cached_[page / 64], bit_of(page))) {", "        if (set(cached_[page / 64], bit_of(page)) || page == 63) {"),
    "a copy that is gone is counted off": ("clock.hpp", "        if ((before & bit_of(page)) != 0) {", "        if (before != ~std::uint64_t{0}) {"),
    "no second chance": ("clock.hpp", "old_ = copies & ~clock_.used_", "old_ = copies | clock_.used_"),
    "a second chance for ever": ("clock.hpp", "used_[group_].fetch_and(~copies, std::memory_order_relaxed);", "used_[group_].load(std::memory_order_relaxed);"),
    "the hand returns to the first page": ("clock.hpp", "clock_.hand_->fetch_add(1, std::memory_order_relaxed) % clock_.groups_;",
                                           "(2 * clock_.groups_ - 1 - groups_left_) % clock_.groups_;"),
    "one more than the bound": ("clock.hpp", "if (copies >= copies_max) return false;", "if (copies > copies_max) return false;"),
    "a sweep forgets the rest of a group": ("clock.hpp", "                old_ &= old_ - 1;\n", "                old_ = 0;\n"),
    "a copy out of date is in use": ("clock.hpp", "        used_[page / 64].fetch_and(~bit_of(page), std::memory_order_relaxed);\n", ""),
    "a use is not noted": ("clock.hpp", "    void use(PageNumber page) const noexcept {\n        set(used_[page / 64], bit_of(page));\n",
                           "    void use(PageNumber page) const noexcept {\n"),
    "a cancelled drop forgets which process maps the page": ("page_word.hpp", "is_valid ? before.who : PageWord::none", "PageWord::none"),
}

if __name__ == "__main__":
    sys.exit(Plants("pages", TESTS, MUTANTS, ("difference.cpp", "difference_x86_64.cpp", "notices.cpp")).main())
