// SPDX-License-Identifier: BSD-3-Clause
// How one rank learns which pages it touches and which it writes: the only part of shared pages that
// knows a mechanism of the kernel. It knows no home, no node and no protocol. Implementations:
//
//   none     one node: every page is plain memory, and nothing is ever tracked
//   async    os::PageFaults with asynchronous write tracking, and os::PageScan (Linux 6.7)
//   sync     os::PageFaults with synchronous write tracking (Linux 5.19)
//   protect  mprotect() in units of unit_bytes, and SIGSEGV, where userfaultfd is refused
//
// choose() takes the best one: none on one node, else async; without it a probe of 1 ms on scratch
// pages compares the first writes of 2 threads by sync and by protect, since the order differs
// between processors. ACP_DSM_FAULTS forces one.
//
// A page of this rank is in one of these states, kept in MappedPages (one byte a page, private to
// the rank), since the kernel's page table alone does not say:
//   absent      an access faults; the handler asks the fetcher for the bytes
//   protected   the next write is recorded
//   written     a write was recorded since the last harvest, or cannot be excluded
//   untracked   writes are not recorded: a home whose page no other node caches
// Two rules that the kernel imposes:
//   1. The kernel may unmap a page to swap it out, and forgets that it was written. A fault on a
//      page that MappedPages calls mapped therefore maps it as written, and harvest() lists absent
//      pages too (os::ScannedPages::mapped_or_absent) and leaves out those never mapped here.
//   2. Before Linux 6.4 a page cannot be mapped protected in one step. sync then maps it writable,
//      protects it, and compares it with its twin: a difference is another thread's write, and the
//      page is written.
//
// Virtual calls are cheap here: the least of them is a system call.
// Threads: repair(), map() and admit_write() by any thread, inside a signal handler; harvest(),
// unmap() and arm() inside a barrier, where no other thread of the rank touches the window.
// Tests: tests/unit/dsm/tracker_conformance.hpp, instantiated for each implementation: random
// accesses of two threads against a model, harvests that lose no write, forks, 16 KiB stacks.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.hpp"
#include "dsm/window.hpp"
#include "os/fault_handler.hpp"
#include "os/page_faults.hpp"

namespace acp::dsm {

enum class TrackerKind : std::uint8_t { none, async, sync, protect };

// How map() maps a page.
enum class MapAs : std::uint8_t {
    reader,    // protected: its next write is recorded
    writer,    // written: the fault was a write, so a second fault would be wasted
    untracked  // a home without sharers
};

// What a fault on a page needs.
enum class FaultNeed : std::uint8_t {
    bytes,     // the page is not mapped here: the fetcher brings it, then map()
    recording  // it is mapped: admit_write() suffices
};

// What the owner of the tracker does for an absent page; in the signal handler.
class PageSource {
public:
    // Returns when the plain mapping of the page has its bytes. Ends the process with a sentence if
    // no node has them.
    virtual void bring(pages::PageNumber page) noexcept = 0;

    // How pages are mapped that this rank touches.
    [[nodiscard]] virtual MapAs kind_of(pages::PageNumber page) const noexcept = 0;

    // Pages around `page` that the node has already, to be mapped with it by one call.
    [[nodiscard]] virtual PageRange present_around(pages::PageNumber page) const noexcept = 0;

protected:
    ~PageSource() = default;
};

// Receives the pages that a harvest found.
class WrittenPages {
public:
    virtual void add(PageRange pages) noexcept = 0;

protected:
    ~WrittenPages() = default;
};

class Tracker {
public:
    // Begins to track: from now on every page is absent, and faults are repaired.
    //   kind    none only on one node
    //   source  outlives the tracker
    // Errors: unsupported (a forced kind that this kernel lacks, with its reason), limit, system;
    // the window is as before.
    static base::Result<std::unique_ptr<Tracker>> start(TrackerKind kind,
                                                        Window& window,
                                                        PageSource& source);

    // Ends tracking. All pages become plain memory again.
    virtual ~Tracker() = default;
    Tracker(const Tracker&) = delete;
    Tracker& operator=(const Tracker&) = delete;

    // Maps pages whose bytes the plain mapping has; pages that are mapped keep their state.
    virtual os::PageOutcome map(PageRange pages, MapAs as) noexcept = 0;

    // Makes pages absent. Their writes must have been harvested, except that of one page which the
    // eviction drops: it unmaps first, and takes the difference then.
    virtual os::PageOutcome unmap(PageRange pages) noexcept = 0;

    // Begins to record writes to untracked pages: other nodes cache them from now on.
    virtual os::PageOutcome arm(PageRange pages) noexcept = 0;

    // Reports every page written since the last harvest, each once, and protects it again. `written`
    // is called in ascending order. O(pages that are mapped here and tracked).
    virtual base::Status harvest(WrittenPages& written) noexcept = 0;

    [[nodiscard]] virtual TrackerKind kind() const noexcept = 0;

    // protect changes rights in such units, so that 10^5 scattered pages stay below
    // vm.max_map_count; a fault then fetches the whole unit.
    static constexpr std::uint64_t unit_bytes = 64 * 1024;

protected:
    Tracker() noexcept = default;
};

// The kind for a job, and why no better one: for acpinfo and ACP_REPORT=1.
struct TrackerChoice {
    TrackerKind kind;
    std::string_view reason;
};

// Measures for about 1 ms where sync and protect compete. Not collective: each rank may have another
// kind, for the tracker is private to a rank.
[[nodiscard]] TrackerChoice choose(bool is_one_node, std::string_view forced);

}  // namespace acp::dsm
