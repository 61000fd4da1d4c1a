// SPDX-License-Identifier: BSD-3-Clause
// All of it but start() runs inside a signal handler, and allocates nothing.
#include "dsm/fault_service.hpp"

#include <algorithm>

#include "dsm/child_touch.hpp"
#include "dsm/page_runs.hpp"
#include "dsm/signal_line.hpp"
#include "os/clock.hpp"

namespace acp::dsm {

namespace {

static_assert(Tracker::block_pages <= 32, "a bit for each page of a block");

constexpr std::uint32_t bit_of(std::uint64_t i) noexcept {
    return std::uint32_t{1} << i;
}

}  // namespace

base::Status FaultService::start(Tracker& tracker) {
    tracker_ = &tracker;
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
        const std::uint32_t brought = bring(page, entered);
        if (is_absent) mapped_.want(page);
        const PageRange written = access != os::FaultAccess::write ? PageRange{page, 0}
                                  : tracker_->maps_whole_blocks()  ? entered
                                                                   : PageRange{page, 1};
        const os::PageOutcome outcome = map(entered, brought, written);
        if (!outcome.is_ok()) return outcome;
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

// Returns the pages that the node has now and that were absent here, a bit each.
std::uint32_t FaultService::bring(pages::PageNumber page, PageRange entered) noexcept {
    const auto is_absent = [](MappedState state) { return state == MappedState::absent; };
    const bool is_whole = tracker_->maps_whole_blocks();
    std::uint32_t brought = 0;
    if (!is_whole) {
        const PageRange run = touched_together(page, entered);
        source_.bring_with(page, run);
        for (std::uint64_t i = 0; i < run.count; ++i) {
            mapped_.take_credit(run.first + i);
            mapped_.want(run.first + i);
        }
        mapped_.give_credit(page);
    }
    for_each_run(mapped_, entered, is_absent, [&](PageRange run) {
        if (is_whole) source_.bring(run);
        for (pages::PageNumber at = run.first; at < run.first + run.count; ++at) {
            if (is_whole || at == page || source_.try_bring(at)) {
                brought |= bit_of(at - entered.first);
            }
        }
        return true;
    });
    return brought;
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
        brought = bring(entered.first, entered);
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
