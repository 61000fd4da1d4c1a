// SPDX-License-Identifier: BSD-3-Clause
// The common part of the two trackers with a userfaultfd: it maps, unmaps and arms pages.
// They differ in how writes are found. Threads: as dsm/tracker.hpp says.
#pragma once

#include <utility>

#include "dsm/mapped_pages.hpp"
#include "dsm/tracker.hpp"
#include "os/page_faults.hpp"

namespace acp::dsm {

class WatchedPages : public Tracker {
public:
    os::PageOutcome map(PageRange pages, MapAs as) noexcept final;
    os::PageOutcome unmap(PageRange pages) noexcept final;
    os::PageOutcome arm(PageRange pages) noexcept final;

protected:
    // All pages of the memory are watched, and absent.
    WatchedPages(os::PageFaults faults, TrackedMemory memory, MappedPages<>& mapped) noexcept
        : faults_(std::move(faults)), memory_(memory), mapped_(mapped) {}

    [[nodiscard]] const os::PageFaults& faults() const noexcept { return faults_; }

    [[nodiscard]] const TrackedMemory& memory() const noexcept { return memory_; }

    [[nodiscard]] MappedPages<>& mapped() const noexcept { return mapped_; }

    // Whole pages, as the calls of PageFaults take them.
    os::PageOutcome map_pages(PageRange pages, bool is_protected) const noexcept {
        return faults_.map_pages(memory_.at(pages.first), pages.count * pages::page_bytes,
                                 is_protected);
    }

    os::PageOutcome protect(PageRange pages) const noexcept {
        return faults_.protect(memory_.at(pages.first), pages.count * pages::page_bytes);
    }

private:
    os::PageOutcome map_protected(PageRange pages) noexcept;

    os::PageFaults faults_;
    TrackedMemory memory_;
    MappedPages<>& mapped_;
};

// Opens a userfaultfd that watches the memory, whose pages it makes absent. Errors as Tracker::start.
base::Result<os::PageFaults> watch_pages(os::WriteTracking tracking, TrackedMemory memory);

// One kind each. Errors as Tracker::start.
base::Result<std::unique_ptr<Tracker>> start_async(TrackedMemory memory, MappedPages<>& mapped);
base::Result<std::unique_ptr<Tracker>> start_sync(TrackedMemory memory, MappedPages<>& mapped);
base::Result<std::unique_ptr<Tracker>> start_protect(TrackedMemory memory, MappedPages<>& mapped);

}  // namespace acp::dsm
