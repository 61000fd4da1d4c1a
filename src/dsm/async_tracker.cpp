// SPDX-License-Identifier: BSD-3-Clause
// The tracker whose writes the kernel records itself: no signal for the first write to a page.
#include <array>
#include <utility>

#include "dsm/page_runs.hpp"
#include "dsm/page_states.hpp"
#include "dsm/watched_pages.hpp"
#include "os/page_scan.hpp"

namespace acp::dsm {

namespace {

// A system call costs as much as the scan of some hundred pages (bench/page_faults), on each
// processor within a factor of three; between the half and the double of it nothing changes by more
// than a tenth.
constexpr std::uint64_t scanned_gap_max = 256;

bool is_tracked(MappedState state) noexcept {
    return state == MappedState::is_protected || state == MappedState::written;
}

class AsyncTracker final : public WatchedPages {
public:
    AsyncTracker(os::PageFaults faults,
                 os::PageScan scan,
                 TrackedMemory memory,
                 MappedPages<>& mapped) noexcept
        : WatchedPages(std::move(faults), memory, mapped), scan_(std::move(scan)) {}

    // A write to a protected page needs no repair: the kernel has unmapped the page, or another
    // thread maps it now.
    os::PageOutcome admit(pages::PageNumber page, os::FaultAccess /*access*/) noexcept override {
        mapped().admit_write(page);
        return map_pages({page, 1}, false);
    }

    base::Status harvest(WrittenPages& written) noexcept override {
        return scan({0, memory().pages}, Scan::takes, written);
    }

    // The kernel takes each page as a whole, also beside a thread that writes it.
    base::Status take_written(PageRange pages, WrittenPages& written) noexcept override {
        return scan(pages, Scan::takes, written);
    }

    base::Status find_written(PageRange pages, WrittenPages& written) const noexcept override {
        return scan(pages, Scan::finds, written);
    }

    [[nodiscard]] TrackerKind kind() const noexcept override { return TrackerKind::async; }

private:
    // Whether the pages are protected again.
    enum class Scan { takes, finds };

    base::Status scan(PageRange pages, Scan mode, WrittenPages& written) const noexcept;
    base::Status scan_run(PageRange run, Scan mode, WrittenPages& written) const;

    // Pages that the kernel found: reports the tracked ones, for the others are not mapped here.
    void report(PageRange found, Scan mode, WrittenPages& written) const noexcept {
        for_each_run(mapped(), found, is_tracked, [&](PageRange run) {
            for (std::uint64_t i = 0; i < run.count && mode == Scan::takes; ++i)
                mapped().protect(run.first + i);
            written.add(run);
            return true;
        });
    }

    [[nodiscard]] pages::PageNumber page_at(const char* address) const noexcept {
        return static_cast<std::uint64_t>(address - memory().begin) / pages::page_bytes;
    }

    os::PageScan scan_;
};

base::Status AsyncTracker::scan(PageRange pages, Scan mode, WrittenPages& written) const noexcept {
    base::Status status;
    const auto is_absent = [](MappedState state) { return state == MappedState::absent; };
    for_each_run(mapped(), pages, is_tracked, is_absent, scanned_gap_max, [&](PageRange run) {
        status = scan_run(run, mode, written);
        return status.is_ok();
    });
    return status;
}

base::Status AsyncTracker::scan_run(PageRange run, Scan mode, WrittenPages& written) const {
    constexpr auto listed = os::ScannedPages::mapped_or_absent;
    std::array<os::PageRun, 128> runs{};
    char* from = memory().at(run.first);
    char* const end = memory().at(run.first + run.count);
    while (from != end) {
        auto step = mode == Scan::takes ? scan_.take_written(from, end, runs, listed)
                                        : scan_.find_written(from, end, runs, listed);
        if (!step.is_ok()) return std::move(step).failure();
        for (const os::PageRun& found : step.value().runs) {
            report({page_at(found.begin), page_at(found.end) - page_at(found.begin)}, mode,
                   written);
        }
        from = step.value().scanned_to;
    }
    return {};
}

}  // namespace

base::Result<std::unique_ptr<Tracker>> start_async(TrackedMemory memory, MappedPages<>& mapped) {
    auto scan = os::PageScan::open();
    if (!scan.is_ok()) return std::move(scan).failure();
    auto faults = watch_pages(os::WriteTracking::async, memory);
    if (!faults.is_ok()) return std::move(faults).failure();
    return std::unique_ptr<Tracker>(std::make_unique<AsyncTracker>(
        std::move(faults).value(), std::move(scan).value(), memory, mapped));
}

}  // namespace acp::dsm
