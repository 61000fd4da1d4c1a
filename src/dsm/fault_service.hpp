// SPDX-License-Identifier: BSD-3-Clause
// What happens in the signal handler of a touched page: joins os::FaultRange, the tracker and the
// source of the bytes. One object for each rank. It uses no protocol and no mechanism of the kernel.
//
// The handler repairs a fault by its cause and by the state of the page:
//   unmapped    in a child of fork(): writes the sentence that shared pages are not inherited, and
//               leaves the signal to its former action, by default the end of the process.
//   absent      fetches the page, with those beside it in its block that were touched before
//               (the credit of dsm/mapped_pages.hpp), and maps it with all pages of its block that
//               the node has (one system call); or, if the tracker maps whole blocks, fetches and
//               maps the block. If the fault continues a stream, the same copies fetch the stream's
//               next pages too (dsm/page_streams.hpp), and these are mapped without their sentinel
//   mapped      Tracker::admit().
// An access whose kind is unknown (a program that calls acp_handle_fault_dsm without a context) is
// a read of an absent page and a write to a mapped one; a write then faults twice.
// If the kernel refuses, the service writes a sentence with page, call and error, and passes the
// signal on.
//
// map_brought() maps pages ahead of their first touch, which then raises no signal.
//
// The thread that faults waits for the pages of its stream, too: a get of 64 pages costs a tenth of 64
// gets (acpbench stream), and no page stays held by a thread that has left its handler.
//
// The source saves the hazard line of the command that the fault interrupted. The handler uses less
// than 6 KiB of stack beside the kernel's frame, so 16 KiB suffice; os::handle_fault() keeps errno.
// Tests: tests/unit/dsm/fault_service_test.cpp, tracker_conformance.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "dsm/mapped_pages.hpp"
#include "dsm/page_counters.hpp"
#include "dsm/page_source.hpp"
#include "dsm/page_streams.hpp"
#include "dsm/touched_bytes.hpp"
#include "dsm/tracker.hpp"
#include "os/fault_handler.hpp"

namespace acp::dsm {

class FaultService {
public:
    // All arguments outlive it.
    FaultService(TrackedMemory memory,
                 MappedPages<>& mapped,
                 PageSource& source,
                 PageFaultCounters& counters) noexcept
        : memory_(memory), mapped_(mapped), source_(source), counters_(counters) {}

    // Begins to repair faults in the memory, of which the tracker says how. Before another thread
    // touches the memory; the service ends before the tracker.
    //   touches  gets the bytes whose touch is a fault; nullptr: they are not needed. Outlives the service
    // Errors: as os::FaultRange::create.
    base::Status start(Tracker& tracker, TouchedBytes* touches = nullptr);

    // Maps the pages of a range that are absent here and whose bytes the node has. Where the tracker
    // maps whole blocks, it fetches and maps the rest of each block, as a fault does. By any thread,
    // outside of faults.
    os::PageOutcome map_brought(PageRange pages) noexcept;

private:
    static bool repair(void* self, const os::MemoryFault& fault) noexcept;

    os::PageOutcome repair_page(pages::PageNumber page, os::FaultAccess access) noexcept;
    os::PageOutcome repair_entered(pages::PageNumber page,
                                   PageRange entered,
                                   os::FaultAccess access) noexcept;
    void fetch(pages::PageNumber page, PageRange entered, const StreamWindow& window) noexcept;
    void fetch_window(pages::PageNumber page, PageRange run, const StreamWindow& window) noexcept;
    std::uint32_t bring(pages::PageNumber page,
                        PageRange entered,
                        pages::PageNumber sentinel) noexcept;
    os::PageOutcome map_window(const StreamWindow& window) noexcept;
    os::PageOutcome map_ahead(PageRange pages, pages::PageNumber sentinel) noexcept;
    void note_used(pages::PageNumber page, const StreamWindow& window) noexcept;
    os::PageOutcome map_brought_block(PageRange entered) noexcept;
    [[nodiscard]] PageRange touched_together(pages::PageNumber page,
                                             PageRange entered) const noexcept;
    os::PageOutcome map(PageRange entered, std::uint32_t brought, PageRange written) noexcept;

    [[nodiscard]] std::uint64_t unit_pages() const noexcept {
        return tracker_->maps_whole_blocks() ? Tracker::block_pages : 1;
    }

    [[nodiscard]] PageRange pages_of(StreamWindow::Unit unit) const noexcept {
        const pages::PageNumber first = unit * unit_pages();
        return {first, std::min(unit_pages(), memory_.pages - first)};
    }

    // The pages that a fault on `page` may map.
    [[nodiscard]] PageRange block_of(pages::PageNumber page) const noexcept;

    TrackedMemory memory_;
    MappedPages<>& mapped_;
    PageSource& source_;
    Tracker* tracker_ = nullptr;  // set before the range exists
    PageFaultCounters& counters_;
    TouchedBytes* touches_ = nullptr;
    std::optional<PageStreams> streams_;  // set with the tracker
    os::FaultRange range_;
};

}  // namespace acp::dsm
