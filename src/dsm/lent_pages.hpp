// SPDX-License-Identifier: BSD-3-Clause
// A command such as acp_put or acp_get uses shared pages by the plain mapping while it is in flight. A
// rank keeps the numbers of these pages here until it enters the barrier, by when the commands have
// ended; until then no eviction drops the pages.
// No tracker sees what acp_get writes, so the rank reports these pages as written when it enters the
// barrier. Not before: another rank of the node that has reached the barrier flushes what is reported,
// and would forget the page while the bytes are still to come.
// A release of a lock reports them too, if they lie in the lock's range.
// hold() and add() by any thread, may throw std::bad_alloc; find() by any thread; take() by the thread in the barrier.
// Tests: tests/unit/dsm/lent_pages_test.cpp, tests/conformance/dsm_copies_test.cpp.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "dsm/mapped_pages.hpp"
#include "dsm/tracker.hpp"
#include "dsm/window.hpp"

namespace acp::dsm {

class LentPages {
public:
    //   mapped  outlives this
    explicit LentPages(MappedPages<>& mapped) : mapped_(mapped), lent_of_(mapped.pages()) {}

    // No eviction drops the pages from now on. Before the caller reads their page words.
    void hold(PageRange pages) {
        const std::lock_guard lock(mutex_);
        for (pages::PageNumber page = pages.first; page < pages.first + pages.count; ++page) {
            if (lent_of_[page] != PageUse::no) continue;
            lent_.push_back(page);  // first: it may throw
            lent_of_[page] = PageUse::read;
            mapped_.enter(page);
        }
    }

    // A command writes the pages, which are held.
    void add(PageRange pages) noexcept {
        const std::lock_guard lock(mutex_);
        for (pages::PageNumber page = pages.first; page < pages.first + pages.count; ++page)
            if (lent_of_[page] != PageUse::no) lent_of_[page] = PageUse::written;
    }

    // Reports each page of a range that was added, and forgets none: a command may still write it.
    void find(PageRange pages, WrittenPages& written) noexcept {
        const std::lock_guard lock(mutex_);
        for (const pages::PageNumber page : lent_) {
            const bool is_in = page - pages.first < pages.count;
            if (is_in && lent_of_[page] == PageUse::written) written.add({page, 1});
        }
    }

    // Reports each page that was added once, and forgets all pages.
    void take(WrittenPages& written) noexcept {
        const std::lock_guard lock(mutex_);
        for (const pages::PageNumber page : lent_) {
            if (lent_of_[page] == PageUse::written) written.add({page, 1});
            lent_of_[page] = PageUse::no;
            mapped_.leave(page);
        }
        lent_.clear();
    }

private:
    enum class PageUse : std::uint8_t { no, read, written };

    MappedPages<>& mapped_;
    std::mutex mutex_;
    std::vector<PageUse> lent_of_;  // the use of each page
    std::vector<pages::PageNumber> lent_;
};

}  // namespace acp::dsm
