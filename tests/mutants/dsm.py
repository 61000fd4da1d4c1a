#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the states of the shared pages of several nodes: of mapped, lent and learned pages, of bytes bound to locks, and
of a node. tests/unit/dsm/protocol_test.cpp plants those of the protocol."""
import sys

from plants import Plants


def tests(*names: str) -> list[str]:
    return [f"tests/unit/dsm/{name}_test.cpp" for name in names]


# name: (file, text, instead)
STATES = {
    # Mapped pages.
    "a fault maps a page that is mapped": ("mapped_pages.hpp", "now == MappedState::absent ? as : now; });", "as; });"),
    "a write makes an absent page written": ("mapped_pages.hpp", "now == MappedState::is_protected ? MappedState::written : now;",
                                             "now == MappedState::untracked ? now : MappedState::written;"),
    "an entered page is dropped": ("mapped_pages.hpp", "while (seen < one_thread) {", "while (seen != ~std::uint32_t{0}) {"),
    "a fault is not ordered before its look at the page": ("mapped_pages.hpp", "        Fence::order();  // partner: try_drop()\n", ""),
    "a drop is not ordered before its look at the threads": ("mapped_pages.hpp", "        Fence::order();  // partner: enter()\n", ""),
    "a dropped page keeps its credit": ("mapped_pages.hpp", "compare_exchange_strong(seen, 0, std::memory_order_acquire,",
                                        "compare_exchange_strong(seen, seen & ~3U, std::memory_order_acquire,"),
    "a credit is for ever": ("mapped_pages.hpp", "seen, seen - one_credit, std::memory_order_relaxed", "seen, seen, std::memory_order_relaxed"),
    "a page is wanted for ever": ("mapped_pages.hpp", "(words_[page].fetch_and(~bit, std::memory_order_relaxed) & bit) != 0;",
                                  "(words_[page].load(std::memory_order_relaxed) & bit) != 0;"),
    "a page that a fault wanted counts as fetched ahead": ("mapped_pages.hpp", "        (void)take_ahead(page);\n", ""),
    # Runs.
    "a gap that is too long joins two runs": ("page_runs.hpp", "may_join(state) && gap <= gap_max", "may_join(state)"),
    "a gap of absent pages is in the run": ("page_runs.hpp", "            run.count = page - run.first;\n", "            ++run.count;\n"),
    "a group that was mapped is skipped": ("page_runs.hpp", "mapped.is_group_unused(page);", "true;"),
    "the last run is left out": ("page_runs.hpp", "    if (run.count != 0) (void)visit(run);\n", ""),
    # Updates.
    "one fault is enough to learn a page": ("page_updates.hpp", "wanted_to_learn = 2;", "wanted_to_learn = 1;"),
    "a page is fetched again for ever": ("page_updates.hpp", "return {known.wanted, known.left - 1};", "return {known.wanted, known.left};"),
    "a page that is not touched is learned": ("page_updates.hpp", "        if (as != DroppedAs::wanted) return {};\n", ""),
    "an absent page is fetched always": ("page_updates.hpp", "return choice == UpdateChoice::always && as != DroppedAs::absent;",
                                         "return choice == UpdateChoice::always;"),
    "an absent page stays learned": ("page_updates.hpp", "        if (as == DroppedAs::absent) return {};\n", ""),
    "the steps do not grow": ("page_updates.hpp", "std::min(known.wanted + 1, wanted_max)", "wanted_to_learn"),
    # Lent pages.
    "a lent page stays lent": ("lent_pages.hpp", "            lent_of_[page] = PageUse::no;\n", ""),
    "a command that reads a page forgets one that writes it": ("lent_pages.hpp", "            if (lent_of_[page] != PageUse::no) continue;\n", ""),
    "the lent pages of the last epoch stay": ("lent_pages.hpp", "        lent_.clear();\n", ""),
    "an eviction drops a lent page": ("lent_pages.hpp", "            mapped_.enter(page);\n", ""),
    "no eviction drops a page that was lent": ("lent_pages.hpp", "            mapped_.leave(page);\n", ""),
    "a lent page that is read is reported": ("lent_pages.hpp", "if (lent_of_[page] == PageUse::written) written.add", "if (lent_of_[page] != PageUse::no) written.add"),
    "a lent page that is read is found": ("lent_pages.hpp", "is_in && lent_of_[page] == PageUse::written", "is_in && lent_of_[page] != PageUse::no"),
    "a lent page of any range is found": ("lent_pages.hpp", "if (is_in && lent_of_", "if (lent_of_"),
    # Bound locks.
    "a range ends a byte late": ("bound_ranges.hpp", "range->end() <= byte;", "range->end() < byte;"),
    "a range reaches into the page behind it": ("bound_ranges.hpp", "(end() - 1) / pages::page_bytes - page + 1", "end() / pages::page_bytes - page + 1"),
    "the next holder is forgotten": ("bound_ranges.hpp", "        std::uint32_t seen = thread + 1;\n", "        std::uint32_t seen = holder.load();\n"),
    "a range is in the way of its own lock": ("bound_ranges.cpp", "(*at)->lock != lock", "true"),
    "a range behind the end is in the way": ("bound_ranges.cpp", "(*at)->first < first + bytes;", "(*at)->first <= first + bytes;"),
    "a range that is no longer bound stays in its pages": ("bound_ranges.cpp", "    std::erase_if(by_place_, [lock](const auto& range) { return range->lock == lock; });\n", "    (void)lock;\n"),
    "two locks of one place are one": ("bound_ranges.cpp", "while (of_lock_[i] != nullptr) i =", "if (false) i ="),
    # The node's state.
    "a group that another rank flushes is claimed": ("node_state.hpp", "seen != 0 && !is_dead(", "seen == ~std::uint64_t{0} && !is_dead("),
    "the claim of a dead rank is kept": ("node_state.hpp", "seen != 0 && !is_dead(static_cast<pages::SlotNumber>(seen - 1))", "seen != 0"),
    "the claim of a dead rank is as good as a free one": ("node_state.hpp", "seen == 0 ? GroupClaim::claimed : GroupClaim::inherited",
                                                          "GroupClaim::claimed"),
    "what a dead rank was sending is forgotten": ("node_state.hpp", "return written_[group].load(std::memory_order_acquire) |\n"
        "               sending_[group].load(std::memory_order_relaxed);", "return written_[group].load(std::memory_order_acquire);"),
    "a failure is told twice": ("node_state.hpp", "words_[failure_word].exchange(0, std::memory_order_relaxed)",
                                "words_[failure_word].load(std::memory_order_relaxed)"),
    "a mask of pages reaches into the next group": ("node_state.hpp", "visit(page / group_pages, ones << page % group_pages);",
                                                    "visit(page / group_pages, ~std::uint64_t{0} << page % group_pages);"),
    "a freed page is flushed": ("node_state.hpp", "            written_[group].fetch_and(~bits, std::memory_order_relaxed);\n", ""),
    "a page that is being sent counts as sent": ("node_state.hpp", "return (sending_[page / group_pages].load(std::memory_order_acquire) & bit_of(page)) != 0;",
                                                 "return false;"),
    "a flush clears a bit before it sets the other one": ("node_state.hpp", "        sending_[page / group_pages].fetch_or(bit_of(page), std::memory_order_relaxed);\n", ""),
}


def header_plants() -> list[Plants]:
    """Each header with its own tests alone."""
    files = {rule[0].split(".")[0] for rule in STATES.values()}
    return [Plants("dsm", tests(file), {name: rule for name, rule in STATES.items() if rule[0].startswith(file)},
                   ("bound_ranges.cpp",) if file == "bound_ranges" else (), ("pages", "os", "base")) for file in sorted(files)]


if __name__ == "__main__":
    sys.exit(max([plants.main() for plants in header_plants()]))
