#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the shared pages of several nodes: the states of pages and nodes, fetches, flushes, fences, evictions, streams,
bound locks, the handler of faults, and the barrier. tests/unit/dsm/protocol_test.cpp plants those of the protocol itself."""
import sys

from jobs import JobPlants
from plants import ROOT, Plants

SOURCES = tuple(sorted(path.name for path in (ROOT / "src/dsm").glob("*.cpp")))
LAYERS = ("team", "operations", "claims", "pm", "message", "data", "gma", "allocator", "remote", "mailbox", "local", "node", "hash", "pages", "os", "base")


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
    "a copy of a range lacks its first byte": ("bound_ranges.hpp", "= std::max(range.first, begin) - begin;", "= std::max(range.first, begin) - begin + 1;"),
    "a copy of a range ends with the page": ("bound_ranges.hpp", "std::min(range.end(), begin + pages::page_bytes) - begin;", "pages::page_bytes;"),
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

CALLS = {
    # Fetches.
    "a page is published before its bytes": ("fetcher.cpp",
        "            std::memcpy(plain.data(), parts_.window.twin(page).data(), plain.size());\n            clock.use(page);\n"
        "            (void)words.end_fetch(page, parts_.slot, true);\n",
        "            clock.use(page);\n            (void)words.end_fetch(page, parts_.slot, true);\n"),
    "old bytes of a home in the barrier are kept": ("fetcher.cpp", "last_take >= parts_.node.next_epoch()", "last_take > parts_.node.next_epoch()"),
    "a failed mark is no failure": ("fetcher.cpp", "    if (!marked.is_ok()) status = std::move(marked);\n", ""),
    "a page that cannot be fetched stays held": ("fetcher.cpp", "            (void)words.abandon(page, parts_.slot);\n", ""),
    "a thread that waits for a page is not woken": ("fetcher.cpp", "        wake_waiters(parts_.node, parts_.peers, words.word(page));\n", ""),
    "one copy fetches pages of two homes": ("fetcher.cpp", "last->home == homes.home(page) &&", "true &&"),
    "the writes of an evictor that died are not sent": ("fetcher.cpp", "parts_.node.has_unsent(page)) return room_->send_left(page);",
                                                        "false) return room_->send_left(page);"),
    "a fetch waits for a neighbour that another thread moves": ("fetcher.cpp", "held == HeldPages::end_runs) break;", "false) break;"),
    "a fetch ahead drops copies that are in use": ("fetcher.cpp", "if (!has_room(left.first()) && !room_->make_room()) break;", ""),
    # Flushes.
    "writes that did not reach the home are forgotten": ("flusher.cpp", "    parts_.node.add_written({sending.page, 1});\n    return", "    return"),
    "the twin stays old": ("flusher.cpp", "        code_.apply(parts_.window.twin(sending.page), sending.difference);\n", ""),
    "a flushed page has no notice": ("flusher.cpp", "    node.add_flushed(page);\n    window", "    window"),
    "writes to a home here have no notice": ("flusher.cpp", "        parts_.note_sent(page);\n        node.end_flush(page);\n", "        node.end_flush(page);\n"),
    "pages outside of the range are flushed": ("flusher.cpp", "pages = parts_.node.to_flush(group) & mask;", "pages = parts_.node.to_flush(group);"),
    "the claim of a group stays": ("flusher.cpp", "        parts_.node.release_claim(group_);\n", ""),
    "a thread that waits for a claim is not woken": ("flusher.cpp", "        wake_waiters(parts_.node, parts_.peers, parts_.node.claim_word(group_));\n", ""),
    "the bytes of a lock are in a difference": ("flusher.cpp", "    parts_.leave_out_bound(page, copy);\n", ""),
    "a journal has no entry of what is sent": ("flusher.cpp", "    journal.begin(sending_count_, JournalStep::sending, page);\n", ""),
    "the journal of a flush that has ended stays": ("flusher.cpp", "    parts_.journals.of(parts_.slot).end(index);\n", ""),
    "the journal of a dead rank is not completed": ("flusher.cpp", "        if (claim.is_inherited()) keep_first(first, complete_journals(group));\n", ""),
    "a page that another thread moves is forgotten": ("flusher.cpp", ": copy_of(page);\n    if (copy == CopyState::moving) node.add_written({page, 1});\n", ": copy_of(page);\n"),
    "a fence forgets a page that another thread moves": ("flusher.cpp", "= copy_of(page);\n    if (copy == CopyState::moving) node.add_written({page, 1});\n",
                                                         "= copy_of(page);\n"),
    "bytes of a page that was dropped are sent": ("flusher.cpp", "is_held || is_left_by_dead(page) ? CopyState::here", "true ? CopyState::here"),
    "a page of an evictor that died has no bytes": ("flusher.cpp", "is_held || is_left_by_dead(page) ?", "is_held ?"),
    # Fences.
    "a fence does not wait for the claim": ("flusher.cpp", "    claim.wait();\n", ""),
    "a fence does not wait for a page that moves": ("flusher.cpp", "if (mask != 0) wait_until_moved(first_of(group, mask));", "mask = 0;"),
    "a fence merges nothing": ("page_fence.cpp", "    (void)merge.merge();\n", ""),
    "a fence writes the bytes of a lock": ("page_fence.cpp", "    parts_.leave_out_travelling(page, journal.copy(index));\n", ""),
    "a merge has no entry in the journal": ("page_fence.cpp", "    journal.begin(index, JournalStep::merging, page);\n", ""),
    "a failed copy of a fence is merged": ("page_fence.cpp", "    if (!status.is_ok()) {\n        return Status::worded", "    if (false) {\n        return Status::worded"),
    "a fence ends its flush before the merge": ("flusher.cpp",
        "    if (count != 0) keep_first(first, next->take(std::span(sent).first(count)));\n    for (std::size_t i = 0; i < sending_count_; ++i) parts_.node.end_flush(sending_[i].page);\n",
        "    for (std::size_t i = 0; i < sending_count_; ++i) parts_.node.end_flush(sending_[i].page);\n    if (count != 0) keep_first(first, next->take(std::span(sent).first(count)));\n"),
    # Evictions.
    "a dirty page goes unsent": ("page_evictor.cpp", "            parts_.node.add_written({victim.page, 1});\n", ""),
    "a page whose home did not get its writes goes": ("page_evictor.cpp", "!victim.is_kept && parts_.node.has_unsent(victim.page)", "false"),
    "a copy that went counts": ("page_evictor.cpp", "        parts_.window.clock().remove(victim.page);\n", ""),
    "a copy that stays is held for ever": ("page_evictor.cpp", "    parts_.window.page_words().cancel_drop(victim.page, parts_.slot, victim.before);\n", ""),
    "a thread that waits for a copy that went is not woken": ("page_evictor.cpp", "        wake(victim.page);\n        ++count;\n", "        ++count;\n"),
    "a copy that the kernel maps goes": ("page_evictor.cpp", "            (void)mapped_.map(victim.page, MappedState::written);\n            keep(victim);\n", ""),
    "a copy with bytes of a lock goes": ("page_evictor.cpp", "if (has_travelling || ", "if ("),
    "writes that the kernel knows alone are no writes": ("page_evictor.cpp", " || tracker_->kind() == TrackerKind::async", ""),
    "a half of a block goes": ("page_evictor.cpp", "        for (std::size_t i = before; i < victims_count_; ++i) keep(victims_[i]);\n        victims_count_ = before;\n", ""),
    "two threads evict at once": ("page_evictor.cpp", "while (!evictor_.turn_.compare_exchange_strong", "if (!evictor_.turn_.compare_exchange_strong"),
    "a turn ends without a word": ("page_evictor.cpp", "        if (evictor_.turn_waiters_.load(std::memory_order_seq_cst) != 0)\n            evictor_.parts_.peers.wake(evictor_.turn_);\n", ""),
    # Flushes ahead.
    "a range replaces the one before": ("early_flusher.cpp", "pending_ = hull_of(pending_, pages);", "pending_ = pages;"),
    "the end of a flush is not awaited": ("early_flusher.cpp", "pending_.count == 0 && !is_flushing_;", "pending_.count == 0;"),
    "the thread ends before its last range": ("early_flusher.cpp", "        if (pending_.count == 0) {\n            is_running_", "        if (pending_.count == 0 || is_stopping_) {\n            is_running_"),
    "a range that ends the earlier one is cut": ("early_flusher.cpp", "std::max(one.first + one.count, other.first + other.count)", "(one.first + one.count)"),
    # Streams.
    "windows do not grow": ("page_streams.cpp", "std::max(2 * stream.window, std::uint64_t{1})", "std::max(stream.window, std::uint64_t{1})"),
    "a window is as long as there are no other copies": ("page_streams.cpp", "std::min(window_pages_max, ahead_max)", "window_pages_max"),
    "a window reaches behind the last page": ("page_streams.cpp", "std::min(stream.window, units_left(window.first, stream.stride, units_))", "stream.window"),
    "a stream that is no longer used goes on": ("page_streams.cpp", "return is_on_way && is_way_mapped(stream.at, stream.stride, steps) ? steps : 0;", "return is_on_way ? steps : 0;"),
    "a window has no sentinel": ("page_streams.cpp", "if (window.count >= window_with_sentinel_min) {", "if (false) {"),
    "streams run in one direction": ("page_streams.cpp", "(difference < 0) == (stream.stride < 0)", "difference >= 0 && stream.stride > 0"),
}

TRACKED = {
    "a fault lets evictions drop its page": ("fault_service.cpp", "    for (std::uint64_t i = 0; i < entered.count; ++i) mapped_.enter(entered.first + i);\n    const os::PageOutcome outcome = repair_entered",
        "    for (std::uint64_t i = 0; i < entered.count * 0; ++i) mapped_.enter(entered.first + i);\n    const os::PageOutcome outcome = repair_entered"),
    "a written page is mapped as a read one": ("fault_service.cpp", "page - written.first < written.count ? MapAs::writer", "false ? MapAs::writer"),
    "a home that no node caches is tracked": ("fault_service.cpp", "        if (source_.is_untracked(page)) return MapAs::untracked;\n", ""),
    "pages touched together come alone": ("fault_service.cpp", "    while (first > entered.first && belongs(first - 1)) --first;\n    while (end < entered.first + entered.count && belongs(end)) ++end;\n", ""),
    "a fault of another process's memory is repaired": ("fault_service.cpp", "if (fault.cause == os::FaultCause::unmapped) {", "if (false) {"),
    "a fault on a mapped page is a fetch": ("fault_service.cpp", "    if (!is_absent) return tracker_->admit(page, access);\n", ""),
    "the sentinel of a window is mapped": ("fault_service.cpp", "if (page != sentinel) brought |=", "brought |="),
    "the used units of a window are not noted": ("fault_service.cpp", "        if (is_absent) note_used(page, window);\n", ""),
    "a page is protected without its state": ("watched_pages.cpp", "        set_states(mapped_, run, MappedState::is_protected);\n", ""),
    "a page is unmapped and keeps its state": ("watched_pages.cpp", "    set_states(mapped_, pages, MappedState::absent);\n", ""),
}

# Jobs: (program, arguments of acprun, filter, variables); None for the arguments of a program that starts jobs itself
ON_NODES = ["-n", "4", "--nodes", "2", "--heap-size", "32M"]
JOBS = {
    "random": ("conformance_dsm_random", ON_NODES, "*", {"TEST_SEEDS": "10"}),
    "evictions": ("conformance_dsm_random", ON_NODES, "*", {"TEST_SEEDS": "6", "ACP_DSM_CACHE": "1", "TEST_PAGES": "240", "ACP_DSM_FAULTS": "async"}),
    "locks": ("conformance_dsm_locks", ON_NODES, "*", {"TEST_NODES": "several", "TEST_SEEDS": "10"}),
    "pointers": ("conformance_dsm_pointers", ON_NODES, "*", {"TEST_INCLUDE": str(ROOT / "include")}),
    "pointers, own gateways": ("conformance_dsm_pointers", ["-n", "2", "--nodes", "2", "--heap-size", "32M"], "*",
                               {"TEST_INCLUDE": str(ROOT / "include"), "ACP_BYPASS": "off"}),
    "shared pages": ("conformance_dsm", ON_NODES, "*", {"TEST_NODES": "several"}),
    "stops": ("dsm_driver", None, "DsmStopTest.*", {}),
    "homes": ("conformance_dsm_homes", ON_NODES, "*", {"TEST_NODES": "2"}),
    "homes, three nodes": ("conformance_dsm_homes", ["-n", "3", "--nodes", "3", "--heap-size", "32M"], "*", {"TEST_NODES": "3"}),
}

# name: (file, text, instead, job)
BY_JOBS = {
    # The three ways to lose a process.
    "a fault waits for all commands": ("home_link.cpp", "return gma_.wait_for_one(request);", "return gma_.wait(request, -1, false);", "stops"),
    "a thread of the library touches an absent page": ("shared_pages.cpp", "    return reinterpret_cast<char*>(window().plain(0).data()) + (address - window().tracked(0));",
                                                       "    return address;", "pointers"),
    "the driver of a gateway touches an absent page": ("api/shared_range.cpp", "    if (refuse_shared(\"\", pointer, bytes).is_ok()) return true;\n", "    if (true) return true;\n",
                                                       "pointers, own gateways"),
    # The barrier.
    "the leader does not flush what a rank left": ("barrier.cpp", "    const Status left = flusher_.flush_all({0, parts_.window.page_count()});\n", "    const Status left;\n", "random"),
    "a barrier harvests no writes": ("barrier.cpp", "Status status = own_.tracker.harvest(*this);", "Status status;", "random"),
    "a barrier forgets what commands wrote": ("barrier.cpp", "    own_.lent.take(*this);\n", "", "shared pages"),
    "the second half of a notice is lost": ("barrier.cpp", "if (!encoded.empty()) std::memcpy(notice_.data() + sizeof head, encoded.data(), encoded.size());",
        "if (!encoded.empty()) std::memcpy(notice_.data() + sizeof head, encoded.data(), encoded.size() / 2);", "random"),
    "a home that another node caches is not tracked": ("barrier.cpp", "            return own_.tracker.arm(pages);\n", "            break;\n", "random"),
    "a page that was evicted stays mapped": ("barrier.cpp", "            return unmap(pages);\n", "            break;\n", "evictions"),
    "the notices of the last epoch stay": ("barrier.cpp", "    parts_.node.clear_flushed();\n", "", "shared pages"),
    # Locks.
    "a lock's bytes are not stored": ("bound_pages.cpp", "    std::memcpy(bytes_of(range).data(), bytes.data(), bytes.size());\n", "", "locks"),
    "a barrier does not read the records of locks": ("rank_pages.cpp", "    if (node_.is_renewed()) {\n", "    if (false) {\n", "locks"),
    "a barrier takes the bytes of a lock from its holder": ("rank_pages.cpp", "    locked_.travelling.save_held(bound_);\n    const bool is_whole = meet(", "    const bool is_whole = meet(", "locks"),
    "the bytes of a lock do not get into the twin": ("bound_pages.cpp", "        std::memcpy(parts_.window.twin(page).data() + (first - begin), from, end - first);\n", "", "locks"),
    # Homes.
    "a home that moves does not fetch its bytes": ("rank_pages.cpp", "if (window_.node() == node_)\n            failure_", "if (false)\n            failure_", "homes"),
    "copies stay when the home moves": ("rank_pages.cpp", "            window_.page_words().invalidate(page);\n            window_.clock().neglect(page);\n", "", "homes, three nodes"),
    "a freed page keeps its bytes": ("rank_pages.cpp", "        memory_.clear(pages_);\n", "", "shared pages"),
}


def header_plants() -> list[Plants]:
    """Each header with its own tests alone."""
    files = {rule[0].split(".")[0] for rule in STATES.values()}
    return [Plants("dsm", tests(file), {name: rule for name, rule in STATES.items() if rule[0].startswith(file)},
                   ("bound_ranges.cpp",) if file == "bound_ranges" else (), ("pages", "os", "base")) for file in sorted(files)]


def all_plants() -> list[Plants]:
    calls = tests("early_flusher", "fetcher", "flusher", "page_evictor", "page_fence", "page_streams", "protocol")
    return [*header_plants(), Plants("dsm", calls, CALLS, SOURCES, LAYERS), Plants("dsm", tests("fault_service", "tracker"), TRACKED, SOURCES, LAYERS),
            JobPlants("dsm", BY_JOBS, JOBS)]


if __name__ == "__main__":
    sys.exit(max([plants.main() for plants in all_plants()]))
