// SPDX-License-Identifier: BSD-3-Clause
// Lists the pages of this process that were written since they were protected, and protects them
// again in the same system call, if the caller wants that, so that no write falls between the two
// (PAGEMAP_SCAN, Linux 6.7).
// The pages lie in ranges that os/page_faults.hpp watches with WriteTracking::async. Knows nothing
// of their bytes. Any thread; a forked child must not use the object, since it reads the parent's
// page tables.
// Tests: tests/unit/os/page_scan_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

// Successive written pages, [begin, end). The kernel writes it.
struct PageRun {
    char* begin;
    char* end;
    std::uint64_t categories;  // the kernel's; not for callers
};

// Which pages PageScan lists.
enum class ScannedPages {
    mapped,
    // Absent ones too, unless they were protected when they became absent. To swap a written page out,
    // or after MADV_PAGEOUT, the kernel unmaps it, and no mapped page shows the write any longer. A
    // page that was never mapped counts as written.
    mapped_or_absent,
};

class PageScan {
public:
    // Errors: unsupported (a kernel without PAGEMAP_SCAN), limit (descriptors used up), system (no
    // /proc, or this process may not read its own page tables, as after a change of its user
    // without exec).
    static Result<PageScan> open();

    // The outcome of one call: the next one continues at scanned_to.
    struct ScanStep {
        std::span<PageRun> runs;  // ascending, disjoint; adjacent ones may touch
        char* scanned_to;
    };

    // Scans from `begin` until `end`, until step_bytes or until all of `runs` is filled; protects
    // the pages of the runs, and no others. A page that another thread writes concurrently is in
    // this scan or in the next one.
    //   begin, end  page boundaries, begin < end
    //   runs        at least one; overwritten
    // Delays mmap() and munmap() of other threads until it returns. Errors: argument (no page
    // boundaries, or no room for runs), state (a part of the range is not watched with
    // WriteTracking::async); no page is protected then, or those of an earlier mapping in the
    // range. system.
    Result<ScanStep> take_written(char* begin,
                                  char* end,
                                  std::span<PageRun> runs,
                                  ScannedPages pages = ScannedPages::mapped) const;

    // Lists the written pages in the same way, and protects none: each of them is in the next scan too.
    // Any thread, also while others write. Errors: as above.
    Result<ScanStep> find_written(char* begin,
                                  char* end,
                                  std::span<PageRun> runs,
                                  ScannedPages pages = ScannedPages::mapped) const;

    // The most bytes that one call scans.
    static constexpr std::uint64_t step_bytes = std::uint64_t{16} << 20;

private:
    explicit PageScan(FileDescriptor file) noexcept : file_(std::move(file)) {}

    Result<ScanStep> scan(
        char* begin, char* end, std::span<PageRun> runs, ScannedPages pages, bool protects) const;

    FileDescriptor file_;  // /proc/self/pagemap
};

}  // namespace acp::os
