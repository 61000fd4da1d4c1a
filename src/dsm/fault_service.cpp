// SPDX-License-Identifier: BSD-3-Clause
// All of it but start() runs inside a signal handler, and allocates nothing.
#include "dsm/fault_service.hpp"

#include <algorithm>
#include <array>

#include "dsm/child_touch.hpp"
#include "dsm/page_runs.hpp"
#include "dsm/signal_line.hpp"
#include "os/clock.hpp"

namespace acp::dsm {

namespace {

static_assert(Tracker::block_pages <= 32, "a bit for each page of a block");

// Pages between those of a window that are fetched with them: in one get they cost less than a get for
// each page of the window.
constexpr std::uint64_t gap_max = 2;

constexpr std::uint32_t bit_of(std::uint64_t i) noexcept {
    return std::uint32_t{1} << i;
}

}  // namespace

base::Status FaultService::start(Tracker& tracker, TouchedBytes* touches) {
    tracker_ = &tracker;
    touches_ = touches;
    streams_.emplace(mapped_, unit_pages());
    auto range =
        os::FaultRange::create(memory_.begin, memory_.pages * pages::page_bytes, repair, this);
    if (!range.is_ok()) return std::move(range).failure();
    range_ = std::move(range).value();
    return {};
}

bool FaultService::repair(void* self, const os::MemoryFault& fault) noexcept {
    auto& service = *static_cast<FaultService*>(self);
    const auto page =
        static_cast<std::uint64_t>(fault.address - service.memory_.begin) / pages::page_bytes;
    if (fault.cause == os::FaultCause::unmapped) {
        report_touch_by_child(service.memory_, fault.address);
        return false;
    }
    if (service.touches_ != nullptr)
        service.touches_->note(static_cast<std::uint64_t>(fault.address - service.memory_.begin));
    const std::uint64_t begin = os::now_ns();
    const os::PageOutcome outcome = service.repair_page(page, fault.access);
    // relaxed, as the other counters: no data hangs on them
    service.counters_.faults.fetch_add(1, std::memory_order_relaxed);
    service.counters_.ns.fetch_add(os::now_ns() - begin, std::memory_order_relaxed);
    if (outcome.is_ok()) return true;
    (SignalLine() << "acp: shared page " << page << " cannot be mapped: " << outcome.call
                  << " failed, errno " << static_cast<std::uint64_t>(outcome.error))
        .write();
    return false;
}

PageRange FaultService::block_of(pages::PageNumber page) const noexcept {
    const pages::PageNumber first = page / Tracker::block_pages * Tracker::block_pages;
    return {first, std::min(Tracker::block_pages, memory_.pages - first)};
}

os::PageOutcome FaultService::repair_page(pages::PageNumber page, os::FaultAccess access) noexcept {
    const bool has_neighbours =
        tracker_->maps_whole_blocks() || mapped_.state(page) == MappedState::absent;
    const PageRange entered = has_neighbours ? block_of(page) : PageRange{page, 1};
    for (std::uint64_t i = 0; i < entered.count; ++i) mapped_.enter(entered.first + i);
    const os::PageOutcome outcome = repair_entered(page, entered, access);
    for (std::uint64_t i = 0; i < entered.count; ++i) mapped_.leave(entered.first + i);
    return outcome;
}

os::PageOutcome FaultService::repair_entered(pages::PageNumber page,
                                             PageRange entered,
                                             os::FaultAccess access) noexcept {
    const bool is_absent = mapped_.state(page) == MappedState::absent;
    if (is_absent || tracker_->maps_whole_blocks()) {
        const StreamWindow window =
            is_absent ? streams_->on_fault(page, source_.ahead_max()) : StreamWindow();
        os::PageOutcome outcome;
        if (is_absent) {
            fetch(page, entered, window);
            outcome = map_window(window);
            if (!outcome.is_ok()) return outcome;
        }
        const std::uint32_t brought = bring(page, entered, window.sentinel);
        if (is_absent) mapped_.want(page);
        const PageRange written = access != os::FaultAccess::write ? PageRange{page, 0}
                                  : tracker_->maps_whole_blocks()  ? entered
                                                                   : PageRange{page, 1};
        outcome = map(entered, brought, written);
        if (!outcome.is_ok()) return outcome;
        if (is_absent) note_used(page, window);
    }
    if (!is_absent) return tracker_->admit(page, access);
    counters_.absent_faults.fetch_add(1, std::memory_order_relaxed);
    return {};
}

// The page, and the absent ones on both sides of it that were touched before, as it was.
PageRange FaultService::touched_together(pages::PageNumber page, PageRange entered) const noexcept {
    if (!mapped_.has_credit(page)) return {page, 1};
    const auto belongs = [&](pages::PageNumber at) {
        return mapped_.state(at) == MappedState::absent && mapped_.has_credit(at);
    };
    pages::PageNumber first = page;
    pages::PageNumber end = page + 1;
    while (first > entered.first && belongs(first - 1)) --first;
    while (end < entered.first + entered.count && belongs(end)) ++end;
    return {first, end - first};
}

// Fetches a page, what comes with it, and a window.
void FaultService::fetch(pages::PageNumber page,
                         PageRange entered,
                         const StreamWindow& window) noexcept {
    if (tracker_->maps_whole_blocks()) {
        if (window.count != 0) fetch_window(page, entered, window);
        return;
    }
    const PageRange run = touched_together(page, entered);
    fetch_window(page, run, window);
    for (std::uint64_t i = 0; i < run.count; ++i) {
        mapped_.take_credit(run.first + i);
        mapped_.want(run.first + i);
    }
    mapped_.give_credit(page);
}

// Returns the pages that the node has now and that were absent here, a bit each.
//   sentinel  is left out
std::uint32_t FaultService::bring(pages::PageNumber page,
                                  PageRange entered,
                                  pages::PageNumber sentinel) noexcept {
    const auto is_absent = [](MappedState state) { return state == MappedState::absent; };
    const bool is_whole = tracker_->maps_whole_blocks();
    std::uint32_t brought = 0;
    for_each_run(mapped_, entered, is_absent, [&](PageRange run) {
        if (is_whole) source_.bring(run);
        for (pages::PageNumber at = run.first; at < run.first + run.count; ++at) {
            const bool is_touched = is_whole || at == page;
            if (is_touched ||
                (at != sentinel && source_.may_map_beside(at) && source_.try_bring(at))) {
                brought |= bit_of(at - entered.first);
            }
        }
        return true;
    });
    return brought;
}

// Fetches a page with the others of a run around it, and with a window.
void FaultService::fetch_window(pages::PageNumber page,
                                PageRange run,
                                const StreamWindow& window) noexcept {
    // A window of a short stride is one range; of a long one each unit is a range.
    std::array<PageRange, PageStreams::scattered_max + 1> ranges;
    std::size_t count = 0;
    const auto add = [&](PageRange pages) {
        PageRange* const last = count != 0 ? &ranges[count - 1] : nullptr;
        if (last != nullptr && pages.first - last->first <= last->count + gap_max) {
            last->count = pages.first + pages.count - last->first;
        } else {
            ranges[count++] = pages;
        }
    };
    bool has_run = false;
    for (std::uint64_t i = 0; i < window.count; ++i) {
        const PageRange pages = pages_of(window.at(window.stride < 0 ? window.count - 1 - i : i));
        if (!has_run && run.first < pages.first + pages.count) {
            has_run = true;
            add(run);
        }
        // Units and runs of whole blocks are the same blocks; else a unit is one page.
        const bool is_in_run = has_run && pages.first - run.first < run.count;
        if (!is_in_run) add(pages);
    }
    if (!has_run) add(run);
    const bool is_alone = count == 1 && ranges[0].count == 1;
    source_.bring_with(page, {ranges.data(), is_alone ? 0 : count});
}

// Maps what the node has of a window, a block at a time.
os::PageOutcome FaultService::map_window(const StreamWindow& window) noexcept {
    os::PageOutcome outcome;
    PageRange run{};
    const pages::PageNumber sentinel = window.sentinel == StreamWindow::no_unit
                                           ? StreamWindow::no_unit
                                           : pages_of(window.sentinel).first;
    for (std::uint64_t i = 0; i < window.count && outcome.is_ok(); ++i) {
        const PageRange pages = pages_of(window.at(window.stride < 0 ? window.count - 1 - i : i));
        const bool continues_run = run.count != 0 && run.first + run.count == pages.first &&
                                   pages.first % Tracker::block_pages != 0;
        if (!continues_run) {
            outcome = map_ahead(run, sentinel);
            run = {pages.first, 0};
        }
        run.count += pages.count;
    }
    return outcome.is_ok() ? map_ahead(run, sentinel) : outcome;
}

// Maps pages of one block, all of it if the tracker maps whole blocks, as far as the node has them.
os::PageOutcome FaultService::map_ahead(PageRange pages, pages::PageNumber sentinel) noexcept {
    std::uint32_t brought = 0;
    std::uint32_t absent = 0;
    for (std::uint64_t i = 0; i < pages.count; ++i) {
        const pages::PageNumber page = pages.first + i;
        mapped_.enter(page);
        if (mapped_.state(page) != MappedState::absent) continue;
        absent |= bit_of(i);
        if (!source_.may_map_beside(page) || !source_.try_bring(page)) continue;
        if (!source_.is_untracked(page)) {
            mapped_.fetch_ahead(page);
            counters_.ahead.fetch_add(1, std::memory_order_relaxed);
        }
        if (page != sentinel) brought |= bit_of(i);
    }
    os::PageOutcome outcome;
    const bool is_left_out = tracker_->maps_whole_blocks() && brought != absent;
    if (!is_left_out) outcome = map(pages, brought, {pages.first, 0});
    for (std::uint64_t i = 0; i < pages.count; ++i) mapped_.leave(pages.first + i);
    return outcome;
}

// The fault shows that its own unit and those of the stream before it were used.
void FaultService::note_used(pages::PageNumber page, const StreamWindow& window) noexcept {
    StreamWindow::Unit unit = page / unit_pages();
    for (std::uint64_t i = 0; i <= window.used; ++i) {
        const PageRange pages = pages_of(unit);
        for (std::uint64_t of = 0; of < pages.count; ++of)
            (void)mapped_.take_ahead(pages.first + of);
        if (i != 0) {
            mapped_.want(pages.first);
            mapped_.give_credit(pages.first);
        }
        unit -= static_cast<StreamWindow::Unit>(window.stride);
    }
}

os::PageOutcome FaultService::map_brought(PageRange pages) noexcept {
    const pages::PageNumber end = pages.first + pages.count;
    for (pages::PageNumber page = pages.first; page < end;) {
        const PageRange block = block_of(page);
        const pages::PageNumber next = std::min(block.first + block.count, end);
        const PageRange entered =
            tracker_->maps_whole_blocks() ? block : PageRange{page, next - page};
        for (std::uint64_t i = 0; i < entered.count; ++i) mapped_.enter(entered.first + i);
        const os::PageOutcome outcome = map_brought_block(entered);
        for (std::uint64_t i = 0; i < entered.count; ++i) mapped_.leave(entered.first + i);
        if (!outcome.is_ok()) return outcome;
        page = next;
    }
    return {};
}

os::PageOutcome FaultService::map_brought_block(PageRange entered) noexcept {
    std::uint32_t brought = 0;
    if (tracker_->maps_whole_blocks()) {
        brought = bring(entered.first, entered, StreamWindow::no_unit);
    } else {
        for (std::uint64_t i = 0; i < entered.count; ++i) {
            const pages::PageNumber page = entered.first + i;
            if (mapped_.state(page) == MappedState::absent && source_.try_bring(page))
                brought |= bit_of(i);
        }
    }
    return map(entered, brought, {entered.first, 0});
}

// Maps the pages that were brought, those of `written` as written.
os::PageOutcome FaultService::map(PageRange entered,
                                  std::uint32_t brought,
                                  PageRange written) noexcept {
    const auto as_of = [&](pages::PageNumber page) {
        if (source_.is_untracked(page)) return MapAs::untracked;
        return page - written.first < written.count ? MapAs::writer : MapAs::reader;
    };
    for (std::uint64_t i = 0; i < entered.count;) {
        if ((brought & bit_of(i)) == 0) {
            ++i;
            continue;
        }
        PageRange run{entered.first + i, 0};
        const MapAs as = as_of(run.first);
        while (i < entered.count && (brought & bit_of(i)) != 0 && as_of(entered.first + i) == as) {
            ++run.count;
            ++i;
        }
        const os::PageOutcome outcome = tracker_->map(run, as);
        if (!outcome.is_ok()) return outcome;
    }
    return {};
}

}  // namespace acp::dsm
