// SPDX-License-Identifier: BSD-3-Clause
// Sends the writes of this node to the homes of the pages. Knows neither how writes were found nor
// when they must arrive: a barrier, a release, a flush hint and the eviction call it.
//
// flush(page) by the rank that claims the page (one rank of the node for each page):
//   1. difference of the plain page from its twin, byte-exact (pages/difference.hpp). Empty: the
//      writes stored equal bytes, or the harvest erred on the safe side; nothing is sent or noticed.
//   2. Up to operation_bytes_max: apply_difference, a row of operations/, run by the home's gateway;
//      longer: DifferenceParts, one operation each. More than half of the page changed: the whole
//      page as a put, only if no other node has ever written the page (its bytes would be lost).
//   3. The twin gets the page's bytes: a sole writer keeps its copy. If another node's notice names
//      the page, the barrier drops it anyway.
// Neighbouring whole pages to one home are one copy of copy_list; operations to one home share
// datagrams. Nothing is sent twice: a page that was flushed early and written again is harvested
// again.
//
// Failures: a rank killed in 1-3 leaves the page in the node's written set (dsm/node_state.hpp);
// another rank of the node repeats it. Applying a difference twice stores the same bytes.
//
// Threads: any thread; two ranks never flush the same page at once (claims in NodeState).
// Tests: tests/unit/dsm/flusher_test.cpp (several writers of a page, parts, whole pages, kills at
// each step), the mutants: no difference sent, pages for differences, 8-byte units, pages pushed to
// writers, old twin of a sole writer.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "dsm/window.hpp"
#include "gma/gma.hpp"

#include "pages/difference.hpp"

namespace acp::pages {
class HomeTable;
}

namespace acp::dsm {

class RaceReport;

struct FlushedPage {
    pages::PageNumber page;
    std::uint32_t difference_bytes;  // 0: no byte changed
};

class Flusher {
public:
    // What one operation carries; longer differences are cut.
    static constexpr std::size_t operation_bytes_max = 1000;
    // Operations and puts in flight before the oldest one is awaited.
    static constexpr std::uint32_t in_flight_max = 64;

    Flusher(gma::Gma& gma,
            Window& window,
            const pages::HomeTable& homes,
            const pages::DifferenceCode& code,
            RaceReport& races);
    ~Flusher();
    Flusher(const Flusher&) = delete;
    Flusher& operator=(const Flusher&) = delete;

    // Begins to send the writes of pages that this rank has claimed. Returns what was sent for the
    // barrier's notices, in `flushed`, page by page.
    //   pages, flushed  the same length
    // Errors: peer (home lost: page, rank and node in the message).
    base::Status flush(std::span<const pages::PageNumber> pages, std::span<FlushedPage> flushed);

    // Returns when the homes have applied all that this rank sent; each by wait_for_one.
    base::Status complete();

private:
    gma::Gma& gma_;
    Window& window_;
    const pages::HomeTable& homes_;
    const pages::DifferenceCode& code_;
    RaceReport& races_;
};

}  // namespace acp::dsm
