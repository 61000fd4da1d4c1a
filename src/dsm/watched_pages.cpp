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
    if (as == MapAs::reader && !faults_.protects_at_once()) as = MapAs::writer;
    map_states(mapped_, pages, as);
    return map_pages(pages, as == MapAs::reader);
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
