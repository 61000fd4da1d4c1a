// SPDX-License-Identifier: BSD-3-Clause
// The requests by which a node reaches the pages of their homes, as a role: the flusher and the
// fetcher know neither addresses nor commands, and tests give them plain memory of other nodes.
// GmaHomeLink is the role over global memory access.
//
// Each request is in flight until wait() of it returns. No order among requests is promised. Any
// thread, and signal handlers of its threads.
// Tests: tests/unit/dsm/fetcher_test.cpp, flusher_test.cpp, protocol_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "dsm/window.hpp"
#include "gma/gma.hpp"

#include "operations/page_operations.hpp"

namespace acp::dsm {

class HomeLink {
public:
    virtual ~HomeLink() = default;

    // The most bytes of a difference in a request: operations::page_patch_bytes_max, or less.
    [[nodiscard]] virtual std::size_t patch_bytes_max() const noexcept = 0;

    // Begins to send a difference, or a part of one, to the home.
    //   difference  patch_bytes_max() bytes at most; the caller's again at once
    virtual gma::Handle apply(pages::PageNumber page,
                              pages::NodeNumber home,
                              std::span<const std::byte> difference) = 0;

    // Begins to mark this node at the home as one that fetches pages.
    //   pages   operations::mark_pages_max at most
    //   answer  written until the request has ended
    virtual gma::Handle mark(PageRange pages,
                             pages::NodeNumber home,
                             operations::MarkedPages& answer) = 0;

    // Begins to copy pages from the home into their twins.
    virtual gma::Handle get(PageRange pages, pages::NodeNumber home) = 0;

    // Begins to copy a page from the home into memory of this node's block.
    //   target  the request's own until it has ended
    virtual gma::Handle get_into(pages::PageSpan target,
                                 pages::PageNumber page,
                                 pages::NodeNumber home) = 0;

    // Begins to say at the home that this node has fenced the pages. Only where the job checks its
    // writes (dsm/race_check.hpp).
    //   pages  operations::end_pages_max at most
    virtual gma::Handle end_writes(PageRange pages, pages::NodeNumber home) = 0;

    // Begins to say at the home which bytes of its pages this rank has touched, where the job
    // checks its writes.
    //   touches  1 .. operations::touches_max; the caller's again at once
    virtual gma::Handle note_touches(std::span<const operations::TouchedByte> touches,
                                     pages::NodeNumber home) = 0;

    // Returns when the request has ended. Waits for no other command of the process.
    // Errors: peer (the home's node is lost), and those of the request.
    virtual base::Status wait(gma::Handle request) = 0;
};

class GmaHomeLink final : public HomeLink {
public:
    //   gma, window  outlive this
    //   masks        the offset of pages::WriterMasks in each node's block; 0: the writes are not
    //                checked
    //   entries      the size of their pool
    GmaHomeLink(gma::Gma& gma,
                const Window& window,
                std::uint64_t masks,
                std::uint64_t entries) noexcept
        : gma_(gma), window_(window), masks_(masks), entries_(entries) {}

    [[nodiscard]] std::size_t patch_bytes_max() const noexcept override {
        return masks_ == 0 ? operations::page_patch_bytes_max : operations::checked_patch_bytes_max;
    }

    gma::Handle apply(pages::PageNumber page,
                      pages::NodeNumber home,
                      std::span<const std::byte> difference) override;
    gma::Handle mark(PageRange pages,
                     pages::NodeNumber home,
                     operations::MarkedPages& answer) override;
    gma::Handle get(PageRange pages, pages::NodeNumber home) override;
    gma::Handle get_into(pages::PageSpan target,
                         pages::PageNumber page,
                         pages::NodeNumber home) override;
    gma::Handle end_writes(PageRange pages, pages::NodeNumber home) override;
    gma::Handle note_touches(std::span<const operations::TouchedByte> touches,
                             pages::NodeNumber home) override;
    base::Status wait(gma::Handle request) override;

private:
    gma::Handle apply_checked(pages::PageNumber page,
                              pages::NodeNumber home,
                              std::span<const std::byte> difference);
    [[nodiscard]] operations::CheckedPages checked_pages(pages::PageNumber first,
                                                         pages::NodeNumber home) const noexcept;
    [[nodiscard]] std::uint32_t writer_of(pages::PageNumber page) const noexcept;

    gma::Gma& gma_;
    const Window& window_;
    std::uint64_t masks_;
    std::uint64_t entries_;
};

}  // namespace acp::dsm
