// SPDX-License-Identifier: BSD-3-Clause
// Brings the bytes of pages to this node, for a fault or ahead of one. One rank's fetch serves all
// ranks of the node. The fetcher does not know the tracker.
//
// A fetch of a page:
//   1. PageWords::access(page, slot): `map`: the node has the bytes. `wait`: another rank or thread
//      moves them: this one sleeps on the word, or takes the page of a dead holder over. `fetch`: this
//      thread holds the page; the claim makes the second thread's writes safe.
//   2. In flight together: the mark of this node in the home's sharer words and the get of the page
//      into its twin. If the home took its marks for the next barrier before this one arrived, the
//      bytes may be older than the home's last writes, of which no notice follows
//      (pages/sharers.hpp): the home is in the barrier, and this thread gets the bytes again.
//   3. Each is awaited by itself, never by a wait for a prefix: the command that the fault
//      interrupted may be the one whose bytes this thread is reading, and would never end.
//   4. The bytes go from the twin to the plain mapping; end_fetch() publishes them, and wakes the
//      threads that wait for the page.
// A copy that would be one more than the node's bound (NodeState::copies_max) waits until others are
// dropped (dsm/copy_room.hpp). If none may be, a fault goes beyond the bound, and a fetch ahead ends.
// If the holder of a page died while it dropped the page, its writes are sent before step 2.
//
// A page without a home lies outside of all allocations: it has no bytes, and stays as it is.
//
// Failures: no other node has the bytes of a lost home. fetch() returns the error; in a fault the
// fetcher calls PageLoss::end().
// Threads: all calls by any thread, also in the handler of its own fault; they allocate nothing.
// Tests: tests/unit/dsm/fetcher_test.cpp, protocol_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "dsm/copy_room.hpp"
#include "dsm/flusher.hpp"
#include "dsm/page_source.hpp"
#include "dsm/window.hpp"

namespace acp::dsm {

// Ends the process of a thread that touches a page whose home is lost: no byte is invented.
class PageLoss {
public:
    PageLoss() noexcept = default;
    PageLoss(const PageLoss&) = delete;
    PageLoss& operator=(const PageLoss&) = delete;
    virtual ~PageLoss() = default;

    // Does not return, except in tests.
    //   failure  names the page and its home
    virtual void end(const base::Status& failure) noexcept = 0;
};

class PageFetcher final : public PageSource {
public:
    // Pages of one get, if they have one home and lie side by side.
    static constexpr std::uint64_t run_pages_max = 64;
    // Runs in flight of one call.
    static constexpr std::uint32_t in_flight_max = 16;

    //   loss, room  outlive this; nullptr: the node has no bound, and drops no copies
    PageFetcher(const PageParts& parts, PageLoss& loss, CopyRoom* room = nullptr) noexcept
        : parts_(parts), loss_(loss), room_(room), counts_(parts.counters.fetches) {}

    // Waits without a bound, as a fault must.
    void bring(PageRange pages) noexcept override;
    void bring_with(pages::PageNumber page, std::span<const PageRange> others) noexcept override;
    // A small part of the bound: a larger window would drop its own pages before they are used.
    [[nodiscard]] std::uint64_t ahead_max() const noexcept override;
    [[nodiscard]] bool try_bring(pages::PageNumber page) noexcept override;
    // False if copies have a bound, and another rank alone maps the page: no rank could drop it later.
    [[nodiscard]] bool may_map_beside(pages::PageNumber page) const noexcept override;
    [[nodiscard]] bool is_untracked(pages::PageNumber page) const noexcept override;

    enum class Need : std::uint8_t {
        touched,  // the pages go beyond the bound of the node if no copy may be dropped for them
        ahead,    // then the rest of the pages stays absent
        homes     // a barrier fetches pages whose home the node becomes: no copy is dropped
    };

    // Returns when the plain mapping has all pages of the ranges, as far as it could be; the others
    // stay absent. Many gets are in flight at once.
    // Errors: peer (a home's node is lost; page and node are in the message), and those of a copy.
    //   ranges  no page twice
    base::Status fetch(std::span<const PageRange> ranges, Need need = Need::touched);

    base::Status fetch(PageRange pages, Need need = Need::touched) {
        return fetch(std::span<const PageRange>(&pages, 1), need);
    }

    [[nodiscard]] const FetchCounts& counts() const noexcept { return counts_; }

private:
    // Pages that this thread holds, of one home.
    struct Run {
        PageRange pages;
        pages::NodeNumber home = 0;
        gma::Handle mark = gma::handle_null;
        gma::Handle get = gma::handle_null;
        operations::MarkedPages marked;
    };

    [[nodiscard]] pages::PageAccess access(pages::PageNumber page);
    void wait_for(pages::PageNumber page);
    [[nodiscard]] bool has_room(pages::PageNumber page) const noexcept;
    base::Status admit(pages::PageNumber page, Need need);
    base::Status fetch_one(pages::PageNumber page, Need need);
    class PagesLeft;
    enum class HeldPages : std::uint8_t { end_runs, are_skipped };
    bool fetch_runs(PagesLeft& left, Need need, HeldPages held, base::Status& status);
    void begin(Run& run);
    base::Status finish(Run& run);
    void fetch_together(std::span<Run> runs, base::Status& status);
    void publish(const Run& run, bool has_bytes);

    PageParts parts_;
    PageLoss& loss_;
    CopyRoom* room_;
    FetchCounts& counts_;
};

}  // namespace acp::dsm
