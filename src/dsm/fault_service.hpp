// SPDX-License-Identifier: BSD-3-Clause
// What happens in the signal handler of a touched page: joins os::FaultRange, the tracker and the
// fetcher. One object a rank. Knows no protocol.
//
// repair(fault):
//   unmapped    in a child of fork(): writes the sentence that shared pages are not inherited, and
//               leaves the signal to its default action
//   the page is mapped here (MappedPages)   Tracker::map as written, or its admission of the write
//   else        PageFetcher::bring(page), Tracker::map of all pages around it that the node has (one
//               call of the kernel), PageFetcher::follow(page)
// An access whose kind is unknown (a program that calls acp_handle_fault_dsm without a context) is
// a read first; a write then faults once more.
//
// Before the fetch it saves the hazard line of the command that the fault interrupted and restores it
// afterwards. It asserts that its thread is none of the library's and does not hold the driver's
// role. The handler uses less than 6 KiB of stack beside the kernel's frame, so 16 KiB suffice.
// Counters (relaxed, a cache line a rank, read by acpstat): faults, of them with a fetch, time in them.
// Tests: tests/unit/dsm/fault_service_test.cpp; tests/api/dsm_pointers_test.cpp: every public call
// that takes a pointer, with a pointer into absent pages.
#pragma once

#include "dsm/fetcher.hpp"
#include "dsm/mapped_pages.hpp"
#include "dsm/tracker.hpp"
#include "dsm/window.hpp"
#include "os/fault_handler.hpp"

namespace acp::dsm {

class FaultService final : public PageSource {
public:
    FaultService(Window& window, PageFetcher& fetcher, MappedPages<>& mapped) noexcept;

    // Begins to repair faults in the window; the tracker outlives the range.
    // Errors: as os::FaultRange::create.
    base::Status start(Tracker& tracker);

    void bring(pages::PageNumber page) noexcept override;
    [[nodiscard]] MapAs kind_of(pages::PageNumber page) const noexcept override;
    [[nodiscard]] PageRange present_around(pages::PageNumber page) const noexcept override;

private:
    static bool repair(void* self, const os::MemoryFault& fault) noexcept;

    Window& window_;
    PageFetcher& fetcher_;
    MappedPages<>& mapped_;
    Tracker* tracker_ = nullptr;  // set before the range exists
    os::FaultRange range_;
};

}  // namespace acp::dsm
