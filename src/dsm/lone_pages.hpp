// SPDX-License-Identifier: BSD-3-Clause
// A source of pages of which a fault maps the touched page alone, and nothing maps a page ahead of its
// touch: so each page's first touch raises a fault. For ACP_DSM_CHECK=reads. Threads: as the source that
// it forwards to.
// Tests: tests/unit/dsm/touched_bytes_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "dsm/page_source.hpp"
#include "dsm/window.hpp"

namespace acp::dsm {

class LonePages final : public PageSource {
public:
    //   source  outlives this
    explicit LonePages(PageSource& source) noexcept : source_(source) {}

    void bring(PageRange pages) noexcept override { source_.bring(pages); }

    void bring_with(pages::PageNumber page, std::span<const PageRange> others) noexcept override {
        source_.bring_with(page, others);
    }

    [[nodiscard]] std::uint64_t ahead_max() const noexcept override { return 0; }

    [[nodiscard]] bool try_bring(pages::PageNumber /*page*/) noexcept override { return false; }

    [[nodiscard]] bool may_map_beside(pages::PageNumber /*page*/) const noexcept override {
        return false;
    }

    [[nodiscard]] bool is_untracked(pages::PageNumber page) const noexcept override {
        return source_.is_untracked(page);
    }

private:
    PageSource& source_;
};

}  // namespace acp::dsm
