// SPDX-License-Identifier: BSD-3-Clause
// Exchanges a range of pages with their homes while threads of this node and of others use it: the
// writes of this node go to the homes, and those of other nodes into its copies. For flag
// idioms between two barriers. Other ranks of the node may have the pages mapped, so no copy is
// dropped. It does not know how writes were found: each copy counts as written.
//
// For each page of which this node has a copy, while its group is claimed (dsm/flusher.hpp):
//   1. The page is flushed.
//   2. The home's page comes into the journal.
//   3. Its bytes that differ from the twin go into the page and the twin (pages/page_merge.hpp). The
//      bytes that threads of this node write at the same time are not among them, and stay.
//      Bytes that travel with a lock stay too: the home has older ones than the lock.
// A page whose home is this node has the newest bytes, and one without a copy gets them when it is
// touched. A page that a thread moves at the moment is awaited: its bytes may be from before the call.
//
// A thread that has got the lock of a long range (dsm/long_ranges.hpp) does the same with the pages that
// earlier holders changed. If a rank of this node died as the holder, step 3 gives the bytes of the range the
// values of the home: writes that the dead rank did not send are lost.
//
// Notices and marks are as without the fence: this node has marked the page when it fetched it, and
// the next barrier drops a copy that another node wrote, whatever was merged into it.
//
// Where the job checks its writes (dsm/race_check.hpp), those of this node to the pages count as
// ordered when the call returns.
//
// Failures: as dsm/flusher.hpp. If the home's node is lost the copy stays as it is.
// Threads: any.
// Tests: tests/unit/dsm/page_fence_test.cpp, protocol_test.cpp, tests/conformance/dsm_fence_test.cpp.
#pragma once

#include "base/status.hpp"
#include "dsm/flusher.hpp"

namespace acp::dsm {

class PageFence {
public:
    //   flusher  with the same parts; outlives this
    PageFence(const PageParts& parts, Flusher& flusher) noexcept
        : parts_(parts), flusher_(flusher) {}

    // When it returns, the writes that this process made before the call are at the homes, and the
    // copies have what the homes had at the time of the call.
    // Errors: peer (a home's node is lost; page and node are in the message), and those of a copy. The
    // pages without an error are as if there were none.
    base::Status synchronize(PageRange pages);

    // The calling thread has got the lock of a range. Errors: as above.
    //   pages  some of the range
    base::Status refresh(const BoundRange& range, PageRange pages);

    // A job that checks its writes (dsm/race_check.hpp) orders the writes of this node to the pages before
    // all later ones. Errors: as above.
    base::Status end_writes(PageRange pages);

private:
    class Merger;

    PageParts parts_;
    Flusher& flusher_;
};

}  // namespace acp::dsm
