// SPDX-License-Identifier: BSD-3-Clause
// Where the bytes of a page come from that a thread touches: what the fault service asks of the
// fetcher. Any thread, inside a signal handler: nothing is allocated. It knows no mapping: the fault
// service maps the pages afterwards (dsm/fault_service.hpp).
#pragma once

#include <cstdint>
#include <span>

#include "dsm/window.hpp"

namespace acp::dsm {

class PageSource {
public:
    PageSource() noexcept = default;
    PageSource(const PageSource&) = delete;
    PageSource& operator=(const PageSource&) = delete;
    virtual ~PageSource() = default;

    // Returns when the plain mapping has the bytes of all pages of the range, committed, and their
    // page words say that this process maps them (pages/page_word.hpp). Ends the process with a
    // sentence if no node has the bytes.
    virtual void bring(PageRange pages) noexcept = 0;

    // Does the same for one page. Others are fetched too, in the same copies, as far as that is
    // possible without a wait for another thread: their loss ends nothing.
    //   others  ascending, no page twice; the page may be one of them
    virtual void bring_with(pages::PageNumber page, std::span<const PageRange> others) noexcept = 0;

    // The most pages that a fault may fetch ahead of a stream.
    [[nodiscard]] virtual std::uint64_t ahead_max() const noexcept { return ~std::uint64_t{0}; }

    // Does the same for one page whose bytes the node has. For any other page it returns false at
    // once, and the page word is as before.
    [[nodiscard]] virtual bool try_bring(pages::PageNumber page) noexcept = 0;

    // Whether a fault on another page may map this one too, of which the node has the bytes.
    [[nodiscard]] virtual bool may_map_beside(pages::PageNumber /*page*/) const noexcept {
        return true;
    }

    // Whether the page's home is here, and no other node caches it: its writes need no record. The
    // answer changes only in barriers.
    [[nodiscard]] virtual bool is_untracked(pages::PageNumber page) const noexcept = 0;
};

}  // namespace acp::dsm
