// SPDX-License-Identifier: BSD-3-Clause
// How one rank learns which pages it touches and which it writes: the only part of shared pages that
// knows a mechanism of the kernel. It knows no home, no node and no protocol. Implementations:
//
//   none     one node: every page is plain memory, and nothing is ever tracked
//   async    os::PageFaults with asynchronous write tracking, and os::PageScan (Linux 6.7)
//   sync     os::PageFaults with synchronous write tracking (Linux 5.19)
//   protect  mprotect() in blocks of 64 KiB, and SIGSEGV, where userfaultfd is refused
//
// dsm/tracker_choice.hpp takes the best one.
//
// A page of this rank is in one of these states, kept in MappedPages, since the kernel's page table
// alone does not say:
//   absent      an access faults; the fault service asks the fetcher for the bytes
//   protected   the next write is recorded
//   written     a write was recorded since the last harvest, or cannot be excluded
//   untracked   writes are not recorded: a home whose page no other node caches
// Two rules that the kernel imposes:
//   1. The kernel may unmap a page to swap it out, and with async forgets that it was written. A
//      fault on a page that MappedPages calls mapped therefore maps it writable, as written, and
//      harvest() lists absent pages too (os::ScannedPages::mapped_or_absent) and leaves out those
//      never mapped here.
//   2. Before Linux 6.4 a page cannot be mapped protected in one step. sync then maps it writable, as
//      written: the next harvest lists it and protects it, and its difference is empty.
//
// Virtual calls are cheap here: the least of them is a system call.
// Threads: map() and admit() by any thread, inside a signal handler, between MappedPages::enter() and
// leave() of all pages concerned; unmap() of one page by an eviction, after MappedPages::try_drop();
// find_written() and take_written() by any thread; all other calls inside a barrier, where no other thread of the rank touches the window.
// Tests: tests/unit/dsm/tracker_conformance.hpp, instantiated for each implementation: random
// accesses of two threads beside evictions and swapping against a model, harvests that lose no write,
// forks, 16 KiB stacks.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "dsm/mapped_pages.hpp"
#include "dsm/window.hpp"
#include "os/fault_handler.hpp"
#include "os/page_faults.hpp"

namespace acp::dsm {

enum class TrackerKind : std::uint8_t { none, async, sync, protect };

[[nodiscard]] constexpr const char* name_of(TrackerKind kind) noexcept {
    switch (kind) {
        case TrackerKind::none:
            return "none";
        case TrackerKind::async:
            return "async";
        case TrackerKind::sync:
            return "sync";
        case TrackerKind::protect:
            return "protect";
    }
    return "?";
}

// How map() maps a page.
enum class MapAs : std::uint8_t {
    reader,    // protected: its next write is recorded
    writer,    // written: the fault was a write, so a second fault would be wasted
    untracked  // a home without sharers
};

// A shared mapping of a memory file, whole pages: the window as this rank's program sees it.
struct TrackedMemory {
    char* begin = nullptr;
    std::uint64_t pages = 0;

    [[nodiscard]] char* at(pages::PageNumber page) const noexcept {
        return begin + page * pages::page_bytes;
    }
};

// Receives the pages that a harvest found.
class WrittenPages {
public:
    WrittenPages() noexcept = default;
    WrittenPages(const WrittenPages&) = delete;
    WrittenPages& operator=(const WrittenPages&) = delete;
    virtual ~WrittenPages() = default;

    virtual void add(PageRange pages) noexcept = 0;
};

class Tracker {
public:
    // Pages that a fault may map together, since one system call does it: those of the block of the
    // faulting page, its number divided by this.
    static constexpr std::uint64_t block_pages = 16;

    // Begins to track: from now on every page is absent, and each access to one raises a signal.
    //   kind    none only on one node
    //   memory, mapped  outlive the tracker; as many pages in both
    // Errors: unsupported (the kernel lacks the kind: its reason), limit, system; the memory is as
    // before.
    static base::Result<std::unique_ptr<Tracker>> start(TrackerKind kind,
                                                        TrackedMemory memory,
                                                        MappedPages<>& mapped);

    // Ends tracking. All pages become plain memory again.
    virtual ~Tracker() = default;
    Tracker(const Tracker&) = delete;
    Tracker& operator=(const Tracker&) = delete;

    // Maps pages whose bytes the memory file has; pages that are mapped keep their state, except that
    // a protected one becomes written where `as` makes it writable.
    virtual os::PageOutcome map(PageRange pages, MapAs as) noexcept = 0;

    // Repairs a fault on a page that is mapped here, or was until the kernel unmapped it. If the
    // repair was not the right one, for the kernel does not say which of the two, the access faults
    // again and the second repair is.
    //   access  unknown counts as a write
    virtual os::PageOutcome admit(pages::PageNumber page, os::FaultAccess access) noexcept = 0;

    // Makes pages absent. Their writes must have been harvested, except that of one page which an
    // eviction drops: it unmaps first, and takes the difference then.
    virtual os::PageOutcome unmap(PageRange pages) noexcept = 0;

    // Begins to record writes to untracked pages: other nodes cache them from now on. No effect on
    // other pages.
    virtual os::PageOutcome arm(PageRange pages) noexcept = 0;

    // Reports every tracked page written since the last harvest, each once, and protects it again, in
    // ascending order. O(pages of the window), 1 ns for an absent one.
    // Errors: system; the next harvest reports the pages that this one did not.
    virtual base::Status harvest(WrittenPages& written) noexcept = 0;

    // Reports the tracked pages of a range that were written since the last harvest, in ascending order,
    // and changes nothing: the next harvest reports them again. It reports each page
    // that the calling thread has written, except one that the kernel swaps out during the call: the
    // next harvest reports that. By any thread, outside of barriers, while other threads use the window.
    // Errors: system.
    virtual base::Status find_written(PageRange pages, WrittenPages& written) const noexcept = 0;

    // As find_written(), but may protect the pages that it reports: then later calls and the next harvest
    // report those alone that were written since.
    virtual base::Status take_written(PageRange pages, WrittenPages& written) noexcept {
        return find_written(pages, written);
    }

    [[nodiscard]] virtual TrackerKind kind() const noexcept = 0;

    // Whether the tracker gives all pages of a block the same rights, so that a fault maps them all.
    [[nodiscard]] virtual bool maps_whole_blocks() const noexcept { return false; }

protected:
    Tracker() noexcept = default;
};

}  // namespace acp::dsm
