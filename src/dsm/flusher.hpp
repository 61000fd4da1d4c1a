// SPDX-License-Identifier: BSD-3-Clause
// Sends the writes of this node to the homes of the pages. Knows neither how writes were found nor
// when they must arrive: a barrier, a release, a flush hint and the eviction call it.
//
// A page that was harvested (NodeState::add_written) is flushed by the rank that claims its group:
//   1. The difference of the plain page from its twin, byte-exact (pages/difference.hpp). It is empty
//      if the writes stored equal bytes; then nothing is sent or noticed.
//   2. The page is noted for the node's notices, before anything is sent.
//   3. The difference in operations to the home, cut into parts where it is longer than one carries.
//   4. When the home has applied all parts, the twin gets the same difference. So a sole writer's
//      copy and its twin are the home's bytes. Bytes that another thread writes during the flush
//      do not reach the twin: the next harvest finds them, and they are flushed again.
// A page whose home is this node needs its notice alone.
// Bytes that are bound to a lock are in no difference: they travel with the lock (dsm/bound_pages.hpp).
//
// The whole page is never put in place of its difference, however long that is: another node may
// write other bytes of the page in the same epoch, and this one learns of it at the barrier alone.
//
// Failures: of a rank that is killed in any step the page stays to be flushed (NodeState), and
// another rank of the node repeats the steps: the twin is as before, or has the difference in part, and
// the home has got at least that part. The same holds if the home's node is lost.
// Threads: any; one flush() of an object at a time.
// Tests: tests/unit/dsm/flusher_test.cpp, protocol_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "dsm/bound_ranges.hpp"
#include "dsm/home_link.hpp"
#include "dsm/node_peers.hpp"
#include "dsm/node_state.hpp"
#include "dsm/page_counters.hpp"
#include "dsm/window.hpp"

#include "pages/difference.hpp"

namespace acp::dsm {

// All of them outlive those who are given them.
struct PageParts {
    HomeLink& link;
    NodePeers& peers;
    const Window& window;
    NodeState<> node;
    pages::SlotNumber slot;  // this rank's slot on its node
    PageCounters& counters;
    const BoundRanges* bound = nullptr;  // nullptr: no bytes are bound to locks
};

class Flusher {
public:
    // Pages whose operations are in flight before the oldest ones are awaited.
    static constexpr std::size_t in_flight_max = 8;

    //   code  outlives this
    Flusher(const PageParts& parts, const pages::DifferenceCode& code) noexcept
        : parts_(parts), code_(code) {}

    // Flushes the written pages of a range that no other rank is flushing, and waits until their
    // homes have applied the differences. Groups of pages that another living rank has claimed are
    // left to it.
    // Errors: peer (a home's node is lost; page and node are in the message), and those of an
    // operation. The pages without an error are flushed.
    base::Status flush(PageRange pages);

private:
    static constexpr std::size_t parts_max =
        pages::difference_bytes_max /
            (operations::page_patch_bytes_max - pages::difference_line_bytes_max -
             pages::difference_head_bytes) +
        1;

    // A page whose operations are in flight.
    struct PageFlush {
        pages::PageNumber page = 0;
        pages::NodeNumber home = 0;
        pages::Difference difference;  // its bytes lie in `room`
        std::array<gma::Handle, parts_max> requests{};
        std::size_t requests_count = 0;
        pages::DifferenceRoom room{};
    };

    base::Status flush_group(std::uint64_t group, std::uint64_t mask);
    void begin(pages::PageNumber page);
    [[nodiscard]] pages::Difference difference_of(pages::PageNumber page,
                                                  pages::DifferenceRoom& room);
    base::Status finish(PageFlush& sending);
    base::Status finish_all();

    PageParts parts_;
    const pages::DifferenceCode& code_;
    std::array<PageFlush, in_flight_max> sending_{};
    std::size_t sending_count_ = 0;
    // Copies of a page with bound bytes, and of its twin.
    alignas(64) std::array<std::byte, pages::page_bytes> plain_copy_{};
    alignas(64) std::array<std::byte, pages::page_bytes> twin_copy_{};
};

}  // namespace acp::dsm
