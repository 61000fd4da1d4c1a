// SPDX-License-Identifier: BSD-3-Clause
// The copies of others' pages that a node keeps, and which of them to drop when there are more than
// its bound (cache_bytes): the clock with a second chance. A hand passes over the pages; it takes the
// bit of a page that was used since it came by, and offers a page without it to its caller, which
// drops the page if no other process maps it (pages/page_word.hpp). The bits lie in memory that the
// node's processes share. A page is used when it is fetched or pushed, and when a barrier finds
// writes to it; reads leave no trace. Any thread of any process; no call blocks.
// A process that dies between the bit of a page and the count leaves a count that is wrong by one,
// until recount().
// Tests: tests/unit/pages/clock_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "pages/page.hpp"

namespace acp::pages {

template <template <class> class Atomic = std::atomic>
class CacheClock {
public:
    using Word = Atomic<std::uint64_t>;

    //   words  bytes(pages) of shared memory, zero at first
    //   pages  1 or more
    CacheClock(Word* words, std::uint64_t pages) noexcept
        : count_(words),
          hand_(words + 1),
          cached_(words + 2),
          used_(words + 2 + groups_of(pages)),
          groups_(groups_of(pages)) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t pages) noexcept {
        return (2 + 2 * groups_of(pages)) * sizeof(Word);
    }

    // The copies that the node keeps.
    [[nodiscard]] std::uint64_t count() const noexcept {
        return count_->load(std::memory_order_relaxed);
    }

    [[nodiscard]] bool is_cached(PageNumber page) const noexcept {
        return (cached_[page / 64].load(std::memory_order_relaxed) & bit_of(page)) != 0;
    }

    // The node used its copy of the page. For a new copy: while the caller holds the page's word, so
    // that no other process drops the copy before it counts.
    void use(PageNumber page) const noexcept {
        set(used_[page / 64], bit_of(page));
        if (set(cached_[page / 64], bit_of(page))) {
            count_->fetch_add(1, std::memory_order_relaxed);
        }
    }

    // The node drops its copy, or becomes the page's home; no effect if it had none. While the caller
    // holds the page's word: after that another process may use a new copy.
    void remove(PageNumber page) const noexcept {
        const std::uint64_t before =
            cached_[page / 64].fetch_and(~bit_of(page), std::memory_order_relaxed);
        if ((before & bit_of(page)) != 0) {
            count_->fetch_add(~std::uint64_t{0}, std::memory_order_relaxed);
        }
    }

    // Moves the hand until at most `pages_max` copies are left, or it has passed each page twice.
    //   offer  void(PageNumber): drops the copy and calls remove(), if the page's word allows it.
    //          Several callers may be offered a page at once, also when its copy is gone.
    template <typename Offer>
    void shrink_to(std::uint64_t pages_max, const Offer& offer) const {
        for (std::uint64_t i = 0; i < 2 * groups_ && count() > pages_max; ++i) {
            const std::uint64_t group = hand_->fetch_add(1, std::memory_order_relaxed) % groups_;
            const std::uint64_t copies = cached_[group].load(std::memory_order_relaxed);
            if (copies == 0) continue;
            const std::uint64_t used = used_[group].fetch_and(~copies, std::memory_order_relaxed);
            for (std::uint64_t old = copies & ~used; old != 0 && count() > pages_max;
                 old &= old - 1) {
                offer(group * 64 + static_cast<std::uint64_t>(std::countr_zero(old)));
            }
        }
    }

    // Counts the copies anew, after the death of a process. While no other process changes them: in
    // a barrier.
    void recount() const noexcept {
        std::uint64_t count = 0;
        for (std::uint64_t i = 0; i < groups_; ++i) {
            count += static_cast<std::uint64_t>(
                std::popcount(cached_[i].load(std::memory_order_relaxed)));
        }
        count_->store(count, std::memory_order_relaxed);
    }

private:
    [[nodiscard]] static constexpr std::uint64_t groups_of(std::uint64_t pages) noexcept {
        return (pages + 63) / 64;
    }

    [[nodiscard]] static constexpr std::uint64_t bit_of(PageNumber page) noexcept {
        return std::uint64_t{1} << page % 64;
    }

    // relaxed, here and above: the bits choose, and the page's word orders the bytes. A bit that is
    // set already is not written, so that its cache line stays shared. Returns whether it was clear.
    static bool set(Word& word, std::uint64_t bit) noexcept {
        if ((word.load(std::memory_order_relaxed) & bit) != 0) return false;
        return (word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
    }

    Word* count_;
    Word* hand_;    // the groups that it has passed
    Word* cached_;  // a bit for each page
    Word* used_;
    std::uint64_t groups_;  // words of a bit for each page
};

}  // namespace acp::pages
