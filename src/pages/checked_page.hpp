// SPDX-License-Identifier: BSD-3-Clause
// A page at its home, with a twin of it, for finding bytes that two nodes wrote without an order. The
// twin has the bytes of the last barrier, and those that other nodes have sent since: where the page
// differs from it, the home's node has written. Pure.
//
// apply() changes the page before the twin. If the process dies in between, the same call again does
// not count the bytes as the home's, for the page has them already.
// Threads: apply() and end_own_writes() by any, also at the same time, while others write the page.
// Tests: tests/unit/pages/checked_page_test.cpp.
#pragma once

#include "pages/difference.hpp"
#include "pages/homes.hpp"
#include "pages/page.hpp"
#include "pages/writer_masks.hpp"

namespace acp::pages {

class CheckedPage {
public:
    //   home  the node
    CheckedPage(PageNumber page, PageSpan bytes, PageSpan twin, NodeNumber home) noexcept
        : page_(page), bytes_(bytes), twin_(twin), home_(home) {}

    // Another node has sent a difference, or a part of one: notes its bytes as that node's, and those
    // of them that the home has written as the home's too, for the difference overwrites them.
    void apply(const DifferenceCode& code,
               Difference difference,
               const PageWriter& writer,
               const WriterMasks<>& masks) const noexcept;

    // The bytes that the home has written since the last barrier, but for those that differences of
    // others overwrote.
    [[nodiscard]] WrittenBytes own_writes() const noexcept;

    // The twin gets the bytes of the page.
    void end_own_writes() const noexcept;

private:
    [[nodiscard]] WrittenBytes replace(Difference difference) const noexcept;

    PageNumber page_;
    PageSpan bytes_;
    PageSpan twin_;
    NodeNumber home_;
};

}  // namespace acp::pages
