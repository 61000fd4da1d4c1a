// SPDX-License-Identifier: BSD-3-Clause
// Each state is stored before the system call that makes the page's mapping match it: a page that is
// writable is never called protected.
#include "dsm/watched_pages.hpp"

#include "dsm/page_runs.hpp"
#include "dsm/page_states.hpp"

namespace acp::dsm {

base::Result<os::PageFaults> watch_pages(os::WriteTracking tracking, TrackedMemory memory) {
    auto faults = os::PageFaults::open(tracking);
    if (!faults.is_ok()) return faults;
    const std::uint64_t bytes = memory.pages * pages::page_bytes;
    if (auto status = faults.value().watch(memory.begin, bytes); !status.is_ok()) return status;
    const os::PageOutcome unmapped = os::PageFaults::unmap_pages(memory.begin, bytes);
    if (!unmapped.is_ok()) return unmapped.status();
    return faults;
}

os::PageOutcome WatchedPages::map(PageRange pages, MapAs as) noexcept {
    if (as == MapAs::reader && faults_.protects_at_once()) return map_protected(pages);
    map_states(mapped_, pages, as == MapAs::reader ? MapAs::writer : as);
    return map_pages(pages, false);
}

// A page that another thread has mapped since may have been written, and unmapped by the kernel, which
// forgot the write: mapped protected here it would look unwritten. So this leaves out pages that are
// mapped already, whose next access faults again; and it unprotects those that were admitted as written
// between the change of their state and their mapping.
os::PageOutcome WatchedPages::map_protected(PageRange pages) noexcept {
    const pages::PageNumber end = pages.first + pages.count;
    for (pages::PageNumber page = pages.first; page < end;) {
        PageRange run{page, 0};
        for (; page < end; ++page) {
            if (mapped_.map(page, MappedState::is_protected) != MappedState::absent) break;
            ++run.count;
        }
        ++page;
        if (run.count == 0) continue;
        os::PageOutcome outcome = map_pages(run, true);
        const auto is_written = [](MappedState state) { return state == MappedState::written; };
        for_each_run(mapped_, run, is_written, [&](PageRange written) {
            const std::uint64_t bytes = written.count * pages::page_bytes;
            if (outcome.is_ok()) outcome = faults_.unprotect(memory_.at(written.first), bytes);
            return true;
        });
        if (!outcome.is_ok()) return outcome;
    }
    return {};
}

os::PageOutcome WatchedPages::unmap(PageRange pages) noexcept {
    set_states(mapped_, pages, MappedState::absent);
    return os::PageFaults::unmap_pages(memory_.at(pages.first), pages.count * pages::page_bytes);
}

os::PageOutcome WatchedPages::arm(PageRange pages) noexcept {
    os::PageOutcome outcome;
    const auto is_untracked = [](MappedState state) { return state == MappedState::untracked; };
    for_each_run(mapped_, pages, is_untracked, [&](PageRange run) {
        set_states(mapped_, run, MappedState::is_protected);
        outcome = protect(run);
        if (!outcome.is_ok()) admit_writes(mapped_, run);
        return outcome.is_ok();
    });
    return outcome;
}

}  // namespace acp::dsm
