// SPDX-License-Identifier: BSD-3-Clause
// A userfaultfd that makes pages of a shared mapping absent until this process maps them, and that
// write-protects pages. The kernel sends SIGBUS to the thread that touches an absent page
// (os/fault_handler.hpp); no thread reads the descriptor. Knows neither the bytes of a page nor the
// reason for its absence. Any thread; a forked child must not use the object, since it acts on the
// parent's memory. Needs no privilege where the system call is allowed at all.
// Tests: tests/unit/os/page_faults_test.cpp.
//
// A page of a watched range is in one of three states:
//   absent     each access raises SIGBUS, even if the file has bytes for the page
//   protected  reads succeed; WriteTracking defines how the kernel reports the first write
//   writable   reads and writes succeed
// A system call with a buffer in an absent page fails with EFAULT. With WriteTracking::sync it also
// fails with EFAULT if it writes to a protected page. Under memory pressure the kernel may make a
// page absent that this process has mapped; then map_pages() maps it again.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

// How the kernel reports the first write to a protected page.
enum class WriteTracking {
    async,  // it makes the page writable, and os/page_scan.hpp lists the page (Linux 6.7)
    sync,   // it raises SIGBUS, and the handler calls unprotect() (Linux 5.19)
};

// The outcome of a call that a signal handler may make. Owns no memory.
struct [[nodiscard]] PageOutcome {
    const char* call = nullptr;     // the system call that failed; nullptr: success
    int error = 0;                  // its errno
    const char* address = nullptr;  // the first page that the call did not change
    std::uint64_t bytes = 0;        // the rest of the range, which begins at `address`

    [[nodiscard]] bool is_ok() const noexcept { return call == nullptr; }

    // The failure with its message. Allocates memory: not for signal handlers.
    [[nodiscard]] Status status() const;
};

class PageFaults {
public:
    // Errors: unsupported (a kernel without a feature, which the message names), limit (descriptors
    // used up), system (userfaultfd is refused).
    static Result<PageFaults> open(WriteTracking tracking);

    // Watches a shared mapping of a memory file until the mapping or this object ends. Pages that
    // are mapped already stay writable; the others are absent. Children of fork() do not inherit
    // the range: the kernel would not watch it there, and a child would read stale bytes.
    //   address, bytes  whole pages
    // Errors: argument (not whole pages), unsupported (no memory whose pages the kernel watches),
    // system (EBUSY: another userfaultfd watches the range).
    [[nodiscard]] Status watch(char* address, std::uint64_t bytes) const;

    // The calls below take whole pages, and signal handlers may call them.

    // Maps absent pages, whose bytes the file has. Skips a page that is mapped.
    //   is_protected  true only if protects_at_once()
    // Errors: EFAULT (the file has no bytes for the page: write them through another mapping
    // first), ENOENT (no userfaultfd watches the range).
    PageOutcome map_pages(char* address, std::uint64_t bytes, bool is_protected) const noexcept;

    // Makes mapped pages protected. An absent page stays absent.
    PageOutcome protect(char* address, std::uint64_t bytes) const noexcept;

    // Makes protected pages writable.
    PageOutcome unprotect(char* address, std::uint64_t bytes) const noexcept;

    // Makes pages absent in this process. The file keeps their bytes.
    static PageOutcome unmap_pages(char* address, std::uint64_t bytes) noexcept;

    // Whether map_pages() maps a page protected in one step (Linux 6.4). If not, the caller maps a
    // page writable, calls protect(), and compares the page with the bytes that it stored there: a
    // difference is a write of another thread between the two steps.
    [[nodiscard]] bool protects_at_once() const noexcept { return protects_at_once_; }

private:
    PageFaults(FileDescriptor file, bool protects_at_once) noexcept
        : file_(std::move(file)), protects_at_once_(protects_at_once) {}

    PageOutcome set_protection(char* address, std::uint64_t bytes, bool is_on) const noexcept;

    FileDescriptor file_;
    bool protects_at_once_;
};

// The best way in which the kernel lets this process handle faults in shared memory.
struct PageFaultSupport {
    enum class Kind {
        async,  // PageFaults with WriteTracking::async, and PageScan
        sync,   // PageFaults with WriteTracking::sync
        none,   // neither; mprotect() and SIGSEGV remain
    };

    Kind kind = Kind::none;
    std::string reason = {};  // a sentence that says why it is no better kind; empty for async
};

// Finds out by use of each facility on one page of its own. Raises no signal, leaves no descriptor
// open. Control paths only.
[[nodiscard]] PageFaultSupport probe_page_faults();

}  // namespace acp::os
