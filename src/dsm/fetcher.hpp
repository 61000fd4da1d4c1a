// SPDX-License-Identifier: BSD-3-Clause
// Brings the bytes of pages to this node, for a fault, a prefetch or a pinned range. One rank's fetch
// serves all ranks of the node. Knows neither the tracker nor which pages are written.
//
// bring(page), in a signal handler:
//   1. PageWords::access(page, slot): `map`: the node has the bytes. `wait`: another rank or thread
//      moves them: futex on the word, bounded by the liveness poll (a dead holder's page is taken
//      over). `fetch`: this thread holds the page; the claim makes the second thread's writes safe.
//   2. In flight together: the mark of this node in the home's sharer words (mark_sharers, a row of
//      operations/) and the get of the page into its twin. Their order does not matter: both end
//      before the rank enters its next barrier, and the home, which takes the mark in that barrier or
//      in the one after it, sends a notice of the page whether it wrote it or not.
//   3. Each is awaited by Gma::wait_for_one, never by a wait for a prefix: the command that the fault
//      interrupted may be the one whose bytes this thread is reading, and would never end.
//   4. The bytes go from the twin to the plain mapping; end_fetch() publishes them, and its word is
//      the futex of the waiting ranks.
// The handler saves the hazard line of the interrupted command and restores it, and takes no step of
// AllUnderWay (a biased lock admits its own thread twice).
//
// Failures: a home whose node is lost has its bytes nowhere else: the process ends with a sentence
// that names page, rank and node, whatever ACP_ON_ERROR says. prefetch() returns peer instead.
// A fetch by a thread that holds the driver's role, or by a thread of the library, breaks the rule of
// window.hpp: ACP_ASSERT with the page and the call, instead of a wait for itself.
//
// Threads: all calls by any thread; bring() inside a signal handler, so that it allocates nothing:
// room for in_flight_max fetches is made by the constructor.
// Tests: tests/unit/dsm/fetcher_test.cpp (two ranks and two threads on one page, death of the holder
// at each store, home lost before and after the mark), tests/faults/dsm_fetch_kills.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "dsm/window.hpp"
#include "gma/gma.hpp"

#include "pages/page_word.hpp"

namespace acp::pages {
class HomeTable;
}

namespace acp::dsm {

class PageFetcher {
public:
    // Pages of one get, if they have one home and lie side by side.
    static constexpr std::uint64_t run_pages_max = 64;
    // Gets in flight of one rank.
    static constexpr std::uint32_t in_flight_max = 16;

    // All arguments outlive it.
    PageFetcher(gma::Gma& gma,
                Window& window,
                pages::PageWords<>& words,
                const pages::HomeTable& homes);
    ~PageFetcher();
    PageFetcher(const PageFetcher&) = delete;
    PageFetcher& operator=(const PageFetcher&) = delete;

    // Returns when the plain mapping has the page. Waits without a bound, as a fault must; stands in
    // the roll-call with page and home while it does.
    void bring(pages::PageNumber page) noexcept;

    // Begins to fetch pages that the node lacks; does not wait and maps nothing. Pages that another
    // rank moves are left to it. Returns a handle that ends with the last fetch.
    // Errors: peer (the home's node is lost), as a failed handle.
    gma::Handle prefetch(PageRange pages);

    // After a fault: if the last ones of this thread have a steady stride, prefetches the next pages;
    // ends that as soon as pages fetched ahead stay unused (a pure predictor, pages/stride.hpp).
    void follow(pages::PageNumber page) noexcept;

    // Returns when all pages of the range are here, and keeps eviction away from them until unpin():
    // for calls that lend the bytes, send them later, or copy them under a lock.
    // Errors: peer, limit (more than half of cache_bytes pinned).
    base::Status pin(PageRange pages);
    void unpin(PageRange pages) noexcept;

private:
    gma::Gma& gma_;
    Window& window_;
    pages::PageWords<>& words_;
    const pages::HomeTable& homes_;
};

}  // namespace acp::dsm
