// SPDX-License-Identifier: BSD-3-Clause
// The tracker that learns of the first write to a page by a signal.
#include <utility>

#include "dsm/page_runs.hpp"
#include "dsm/page_states.hpp"
#include "dsm/watched_pages.hpp"

namespace acp::dsm {

namespace {

// A system call costs as much as protecting some ten to a hundred pages that are protected already
// (bench/tracker_cost).
constexpr std::uint64_t protected_gap_max = 16;

class SyncTracker final : public WatchedPages {
public:
    SyncTracker(os::PageFaults faults, TrackedMemory memory, MappedPages<>& mapped) noexcept
        : WatchedPages(std::move(faults), memory, mapped) {}

    os::PageOutcome admit(pages::PageNumber page, os::FaultAccess access) noexcept override {
        const PageRange one{page, 1};
        if (access == os::FaultAccess::read) {
            // The kernel has unmapped the page, or another thread maps it now. Protected is right for
            // each state: a write to a page that need not be protected faults once more.
            const bool is_protected = faults().protects_at_once();
            if (!is_protected) mapped().admit_write(page);
            return map_pages(one, is_protected);
        }
        // The first write to a protected page, almost always: it is mapped.
        if (mapped().admit_write(page) != MappedState::is_protected) {
            const os::PageOutcome outcome = map_pages(one, false);
            if (!outcome.is_ok()) return outcome;
        }
        return faults().unprotect(memory().at(page), pages::page_bytes);
    }

    base::Status harvest(WrittenPages& written) noexcept override;

    base::Status find_written(PageRange pages, WrittenPages& written) const noexcept override {
        find_written_states(mapped(), pages, written);
        return {};
    }

    [[nodiscard]] TrackerKind kind() const noexcept override { return TrackerKind::sync; }
};

base::Status SyncTracker::harvest(WrittenPages& written) noexcept {
    const auto is_written = [](MappedState state) { return state == MappedState::written; };
    const auto may_join = [](MappedState state) { return state != MappedState::untracked; };
    base::Status status;
    for_each_run(mapped(), {0, memory().pages}, is_written, may_join, protected_gap_max,
                 [&](PageRange run) {
                     report_written(mapped(), run, written);
                     const os::PageOutcome outcome = protect(run);
                     if (!outcome.is_ok()) admit_writes(mapped(), run);
                     status = outcome.status();
                     return outcome.is_ok();
                 });
    return status;
}

}  // namespace

base::Result<std::unique_ptr<Tracker>> start_sync(TrackedMemory memory, MappedPages<>& mapped) {
    auto faults = watch_pages(os::WriteTracking::sync, memory);
    if (!faults.is_ok()) return std::move(faults).failure();
    return std::unique_ptr<Tracker>(
        std::make_unique<SyncTracker>(std::move(faults).value(), memory, mapped));
}

}  // namespace acp::dsm
