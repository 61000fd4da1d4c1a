// SPDX-License-Identifier: BSD-3-Clause
// The copies of others' pages that a node keeps, and which of them to drop when there are more than
// its bound: the clock with a second chance. A hand passes over the pages; it takes the bit of a page
// that was used since it came by, and a sweep returns a page without it to its caller, which drops the
// page if no other process maps it (pages/page_word.hpp). The bits lie in memory that the node's
// processes share. A page is used when it is fetched, and when a barrier finds writes to it; reads
// leave no trace. Any thread of any process; no call blocks.
//
// A copy counts from before the node fetches it until the node gives its memory back: also while it
// is being fetched, and when a barrier has invalidated it. So the count bounds memory.
// A process that dies between the bit of a page and the count leaves a count that is wrong by one,
// until recount().
// Tests: tests/unit/pages/clock_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

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

    // The same, if the node has a copy of the page, or fewer than copies_max copies. Returns whether it
    // had; else nothing has changed.
    [[nodiscard]] bool try_use(PageNumber page, std::uint64_t copies_max) const noexcept {
        if (is_cached(page)) {
            use(page);
            return true;
        }
        std::uint64_t copies = count();
        do {
            if (copies >= copies_max) return false;
        } while (!count_->compare_exchange_weak(copies, copies + 1, std::memory_order_relaxed,
                                                std::memory_order_relaxed));
        set(used_[page / 64], bit_of(page));
        // Another process that holds no word of the page cannot have set the bit since; if it has, the
        // copy counts once.
        if (!set(cached_[page / 64], bit_of(page))) {
            count_->fetch_add(~std::uint64_t{0}, std::memory_order_relaxed);
        }
        return true;
    }

    // The bytes of the copy are out of date: the hand takes the page when it comes by.
    void neglect(PageNumber page) const noexcept {
        if ((used_[page / 64].load(std::memory_order_relaxed) & bit_of(page)) == 0) return;
        used_[page / 64].fetch_and(~bit_of(page), std::memory_order_relaxed);
    }

    // The node gave the memory of its copy back, or becomes the page's home; no effect if it had none.
    // While the caller holds the page's word: after that another process may use a new copy.
    void remove(PageNumber page) const noexcept {
        const std::uint64_t before =
            cached_[page / 64].fetch_and(~bit_of(page), std::memory_order_relaxed);
        if ((before & bit_of(page)) != 0) {
            count_->fetch_add(~std::uint64_t{0}, std::memory_order_relaxed);
        }
    }

    // Two rounds of the hand, in steps. One thread.
    class Sweep {
    public:
        explicit Sweep(const CacheClock& clock) noexcept
            : clock_(clock), groups_left_(2 * clock.groups_) {}

        // Moves the hand to the next pages to drop. Their copies may be gone, and several sweeps may
        // return the same page.
        // Returns how many there are: fewer than the room, if the hand has passed each page twice.
        std::size_t next(std::span<PageNumber> room) noexcept {
            std::size_t count = 0;
            while (count < room.size()) {
                while (old_ == 0) {
                    if (groups_left_ == 0) return count;
                    --groups_left_;
                    pass_group();
                }
                room[count] = group_ * 64 + static_cast<std::uint64_t>(std::countr_zero(old_));
                ++count;
                old_ &= old_ - 1;
            }
            return count;
        }

    private:
        void pass_group() noexcept {
            group_ = clock_.hand_->fetch_add(1, std::memory_order_relaxed) % clock_.groups_;
            const std::uint64_t copies = clock_.cached_[group_].load(std::memory_order_relaxed);
            if (copies == 0) return;
            old_ = copies & ~clock_.used_[group_].fetch_and(~copies, std::memory_order_relaxed);
        }

        CacheClock clock_;
        std::uint64_t groups_left_;
        std::uint64_t group_ = 0;  // the last one that the hand passed
        std::uint64_t old_ = 0;    // its pages to drop that were not returned, a bit each
    };

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
