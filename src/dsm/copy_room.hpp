// SPDX-License-Identifier: BSD-3-Clause
// Memory for copies of other nodes' pages, as a role for the fetcher, which knows neither the mapping
// of the rank nor how copies are dropped. Any thread, inside a signal handler: nothing is allocated.
#pragma once

#include "base/status.hpp"

#include "pages/page.hpp"

namespace acp::dsm {

class CopyRoom {
public:
    CopyRoom() noexcept = default;
    CopyRoom(const CopyRoom&) = delete;
    CopyRoom& operator=(const CopyRoom&) = delete;
    virtual ~CopyRoom() = default;

    // Drops copies until the node keeps fewer than its bound, as far as other processes and threads do
    // not use them. Waits for operations at homes, and for another thread of the process that drops
    // copies, but for no page word.
    // Returns whether there are fewer now.
    virtual bool make_room() noexcept = 0;

    // Sends the writes of a page that the caller holds, and whose holder before died while it dropped
    // the page: without that the fetch would overwrite them.
    // Errors: as Flusher::flush.
    virtual base::Status send_left(pages::PageNumber page) = 0;
};

}  // namespace acp::dsm
