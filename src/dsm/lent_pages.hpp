// SPDX-License-Identifier: BSD-3-Clause
// A command such as acp_get writes shared pages through the plain mapping. A rank keeps the numbers of
// these pages here. No tracker sees the writes, so the rank reports the pages as written when it enters
// the barrier, by when the commands have ended. Not before: another rank of the node that has reached
// the barrier flushes what is reported, and would forget the page while the bytes are still to come.
// add() by any thread, may throw std::bad_alloc; take() by the thread in the barrier.
// Tests: tests/unit/dsm/lent_pages_test.cpp, tests/conformance/dsm_copies_test.cpp.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "dsm/tracker.hpp"
#include "dsm/window.hpp"

namespace acp::dsm {

class LentPages {
public:
    //   pages  of the window
    explicit LentPages(std::uint64_t pages) : is_lent_(pages) {}

    void add(PageRange pages) {
        const std::lock_guard lock(mutex_);
        for (std::uint64_t i = 0; i < pages.count; ++i) {
            if (is_lent_[pages.first + i]) continue;
            lent_.push_back(pages.first + i);  // first: it may throw
            is_lent_[pages.first + i] = true;
        }
    }

    // Reports each page once, and forgets it.
    void take(WrittenPages& written) noexcept {
        const std::lock_guard lock(mutex_);
        for (const pages::PageNumber page : lent_) {
            written.add({page, 1});
            is_lent_[page] = false;
        }
        lent_.clear();
    }

private:
    std::mutex mutex_;
    std::vector<bool> is_lent_;  // a bit for each page
    std::vector<pages::PageNumber> lent_;
};

}  // namespace acp::dsm
