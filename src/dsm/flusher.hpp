// SPDX-License-Identifier: BSD-3-Clause
// Sends the writes of this node to the homes of the pages, also while threads of the node continue to write
// them. Knows neither how writes were found nor when they must arrive: a barrier, a release, a flush
// hint, a fence and the eviction call it.
//
// A page that was written (NodeState::add_written) is flushed by the rank that claims its group:
//   1. A copy of the plain page in this rank's journal, and the difference of the copy from the twin,
//      byte-exact (pages/difference.hpp). It is empty if the writes stored equal bytes; then nothing is
//      sent or noticed.
//   2. The page is noted for the node's notices, before anything is sent.
//   3. The difference in operations to the home, cut into parts where it is longer than one carries.
//   4. When the home has applied all parts, the twin gets the same difference. So a sole writer's
//      copy and its twin are the home's bytes. Bytes that another thread writes during the flush
//      do not reach the twin: another flush sends them.
// A page whose home is this node needs its notice alone. A page that the node has dropped since has no
// bytes, and one that a thread moves at the moment is left to a later flush.
// Bytes that travel with a lock are in no difference (dsm/bound_pages.hpp), nor are those of a long range
// whose holder on this node has died: the home may have newer ones (dsm/long_ranges.hpp).
//
// The whole page is never put in place of its difference, however long that is: another node may
// write other bytes of the page in the same epoch, and this one learns of it at the barrier alone.
//
// Failures: of a rank that is killed in any step the page stays to be flushed (NodeState), and
// another rank of the node inherits the claim. It first completes what the journals say: sends the
// journal's copy again, for a thread may have restored bytes of the page that the home has got. If the
// home's node is lost, flush() returns peer, and the page stays to be flushed.
// Threads: any; calls of one object wait for each other. No call waits for a page word while it has a
// claim.
// Tests: tests/unit/dsm/flusher_test.cpp, page_fence_test.cpp, protocol_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "base/status.hpp"
#include "dsm/bound_ranges.hpp"
#include "dsm/home_link.hpp"
#include "dsm/node_locks.hpp"
#include "dsm/node_peers.hpp"
#include "dsm/node_state.hpp"
#include "dsm/page_counters.hpp"
#include "dsm/page_journal.hpp"
#include "dsm/window.hpp"

#include "pages/difference.hpp"

namespace acp::dsm {

class RaceCheck;

// All of them outlive those who are given them.
struct PageParts {
    HomeLink& link;
    NodePeers& peers;
    const Window& window;
    NodeState<> node;
    PageJournals journals;
    pages::SlotNumber slot;  // this rank's slot on its node
    PageCounters& counters;
    const BoundRanges* bound = nullptr;  // nullptr: no bytes are bound to locks
    RaceCheck* races = nullptr;          // nullptr: the job does not check its writes
    NodeLocks<> locks = {};

    // Gives the bytes of a copy of a page that travel with locks the values of the twin: a difference
    // of the two has none of them. Threads that hold the locks change them in the page at any time.
    void leave_out_travelling(pages::PageNumber page, pages::PageSpan copy) const noexcept;

    // The same of all bytes that this node must not send.
    void leave_out_bound(pages::PageNumber page, pages::PageSpan copy) const noexcept;

    // The home gets writes to the page: notes it for the notices of the barrier, and for the next release
    // of each lock that has bytes of it.
    void note_sent(pages::PageNumber page) const noexcept;

    // Whether a rank of this node died as the holder of the range's lock, and the copies have its writes.
    [[nodiscard]] bool is_left_by_dead(const BoundRange& range) const noexcept {
        const std::uint32_t holder = locks.holder(range);
        return holder != 0 && peers.is_dead(holder - 1);
    }
};

// Receives pages whose writes their homes have got, before another rank flushes them.
class SentPages {
public:
    SentPages() noexcept = default;
    SentPages(const SentPages&) = delete;
    SentPages& operator=(const SentPages&) = delete;
    virtual ~SentPages() = default;

    //   pages  PageJournal::pages_max at most, of one group; the journal is free
    virtual base::Status take(std::span<const pages::PageNumber> pages) = 0;
};

class Flusher {
public:
    // Pages whose operations are in flight before the oldest ones are awaited.
    static constexpr std::size_t in_flight_max = PageJournal::pages_max;

    //   code  outlives this
    Flusher(const PageParts& parts, const pages::DifferenceCode& code) noexcept
        : parts_(parts), code_(code) {}

    // Flushes the written pages of a range that no other rank is flushing, and waits until their
    // homes have applied the differences. Groups of pages that another living rank has claimed are
    // left to it.
    // Errors: peer (a home's node is lost; page and node are in the message), and those of an
    // operation. The pages without an error are flushed.
    base::Status flush(PageRange pages);

    // Flushes a page whose word the caller holds (PageWords::begin_drop), and which no process
    // maps. If NodeState::to_flush has the page afterwards it is not flushed, or written again.
    base::Status flush_held(pages::PageNumber page);

    // The same for some pages, of several groups: their operations are in flight together.
    //   also_counts  counts too what this call sends
    base::Status flush_held(std::span<const pages::PageNumber> pages, FlushCounts& also_counts);

    // Flushes the written pages of a range, and returns when their homes have what was written before the
    // call: waits for ranks that flush their groups, and for threads that move them.
    // Errors: as flush().
    base::Status flush_all(PageRange pages);

    // Flushes all pages of a range of which this node has a copy, as if they were written, and calls
    // next.take() with them. Waits for ranks that flush their groups, and for threads that move them.
    // Errors: as flush(), and those of next.take().
    base::Status flush_copies(PageRange pages, SentPages& next);

private:
    static constexpr std::size_t parts_max =
        pages::difference_bytes_max /
            (operations::checked_patch_bytes_max - pages::difference_line_bytes_max -
             pages::difference_head_bytes) +
        1;

    // A page whose operations are in flight.
    struct PageFlush {
        pages::PageNumber page = 0;
        pages::NodeNumber home = 0;
        pages::Difference difference;  // its bytes lie in `room`
        std::array<gma::Handle, parts_max> requests{};
        std::size_t requests_count = 0;
        bool is_copy = false;  // SentPages gets it
        pages::DifferenceRoom room{};
    };

    // The node's copy of a page, for the rank with the claim.
    enum class CopyState { here, gone, moving };

    class Claim;

    base::Status flush_written(PageRange pages, bool is_held);
    base::Status flush_group(std::uint64_t group, std::uint64_t mask, bool is_held);
    base::Status flush_few_held(std::span<const pages::PageNumber> pages);
    base::Status flush_waiting(PageRange pages, SentPages* next);
    base::Status flush_waiting_group(std::uint64_t group, std::uint64_t& mask, SentPages* next);
    [[nodiscard]] CopyState copy_of(pages::PageNumber page) const;
    [[nodiscard]] bool is_left_by_dead(pages::PageNumber page) const;
    void wait_until_moved(pages::PageNumber page) const;
    bool begin(pages::PageNumber page, bool is_held);
    bool begin_copy(pages::PageNumber page);
    void send(PageFlush& sending);
    void issue(PageFlush& sending);
    base::Status await(const PageFlush& sending);
    base::Status finish(std::size_t index);
    base::Status finish_all();
    base::Status finish_copies(SentPages* next);
    base::Status complete_journals(std::uint64_t group);
    base::Status complete(const PageJournal& journal, std::size_t index);

    PageParts parts_;
    const pages::DifferenceCode& code_;
    std::mutex mutex_;  // guards the rest, and this rank's journal
    std::array<PageFlush, in_flight_max> sending_{};
    std::size_t sending_count_ = 0;
    FlushCounts* also_counts_ = nullptr;  // during flush_held() of several pages
};

}  // namespace acp::dsm
