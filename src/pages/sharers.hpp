// SPDX-License-Identifier: BSD-3-Clause
// The nodes that fetched a page since its home last asked: a bit for each node and page, in memory
// of the home's node. A node marks itself while it fetches, in flight with the fetch itself; the home
// takes the marks at its next barrier, and from a page's first mark on it tracks its own writes. So a
// page that no node caches costs its home no tracking.
// A node is home of some pages: the words of all others are zero, since a home that loses a page
// clears its words, and the new home never resets one: a fast node may have marked itself there
// before the new home has left the barrier that moved the page. Any thread of any process; no call
// blocks. A process that dies between two stores of mark() leaves a mark that the next mark of the
// page shows; the fetch to which it belonged ended with the process. A home's process that dies while
// it takes the marks leaves each one to the process that repeats the take.
// Tests: tests/unit/pages/sharers_test.cpp.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "pages/page.hpp"

namespace acp::pages {

template <template <class> class Atomic = std::atomic>
class Sharers {
public:
    using Word = Atomic<std::uint64_t>;

    //   words  bytes(pages, nodes) of shared memory, zero at first
    Sharers(Word* words, std::uint64_t pages, NodeNumber nodes) noexcept
        : take_(words),
          marked_(words + 1),
          due_(marked_ + words_of(pages)),
          tracked_(due_ + words_of(pages)),
          nodes_(tracked_ + words_of(pages)),
          pages_(pages),
          words_per_page_(words_of(nodes)) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t pages,
                                                       NodeNumber nodes) noexcept {
        return (1 + 3 * words_of(pages) + pages * words_of(nodes)) * sizeof(Word);
    }

    // A node fetches the page.
    // Returns the epoch of the last barrier whose take() has begun. If it is the epoch of the barrier
    // that the fetching node enters next, the home is in this barrier already and may find the mark
    // in the one after it alone. Then the bytes of a get that was in flight with the mark may be
    // older than the home's last writes, of which no notice follows: the node gets them again.
    std::uint64_t mark(PageNumber page, NodeNumber node) const noexcept {
        word(page, node / 64).fetch_or(std::uint64_t{1} << node % 64, std::memory_order_relaxed);
        // release: the mark; partner: take(). seq_cst, here and there: of a mark and a take that do
        // not see each other's first store none is weaker, so that either the take finds the mark,
        // or the mark's load below returns the take's epoch.
        marked_[page / 64].fetch_or(bit_of(page), std::memory_order_seq_cst);
        return take_->load(std::memory_order_seq_cst);
    }

    // The home takes the marks of all pages: calls visit(page, node) for each, in ascending order,
    // and clears it. The pages that it did not track before are due then. A mark that another node
    // makes at the same time is taken now or the next time. A second call with the same epoch
    // repeats the take of a process that died.
    //   epoch  of the barrier, 1 or more
    template <typename Visit>
    void take(std::uint64_t epoch, const Visit& visit) const {
        const bool is_repeated = take_->load(std::memory_order_relaxed) == epoch;
        take_->store(epoch, std::memory_order_seq_cst);
        for (std::uint64_t group = 0; group < words_of(pages_); ++group) {
            // acquire: the marks that mark() stored before
            std::uint64_t bits = marked_[group].load(std::memory_order_seq_cst) == 0
                                     ? 0
                                     : marked_[group].exchange(0, std::memory_order_seq_cst);
            if (is_repeated) bits = group_bits(group);
            for (; bits != 0; bits &= bits - 1) {
                take_page(group * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)), visit);
            }
        }
    }

    // Calls visit(page) for each page whose first mark was taken since end_due(), in ascending order:
    // its home has to send a notice of it, whether it wrote the page or not, since it did not track
    // its writes until now.
    template <typename Visit>
    void for_each_due(const Visit& visit) const {
        for (std::uint64_t group = 0; group < words_of(pages_); ++group) {
            std::uint64_t bits = due_[group].load(std::memory_order_relaxed);
            for (; bits != 0; bits &= bits - 1) {
                visit(group * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)));
            }
        }
    }

    // The notices of the pages that were due have been exchanged.
    void end_due() const noexcept {
        for (std::uint64_t group = 0; group < words_of(pages_); ++group) {
            const std::uint64_t bits = due_[group].load(std::memory_order_relaxed);
            if (bits == 0) continue;
            tracked_[group].fetch_or(bits, std::memory_order_relaxed);
            due_[group].store(0, std::memory_order_relaxed);
        }
    }

    // The home tracks its own writes to the page from now on. Before any process touches it.
    void track(PageNumber page) const noexcept {
        tracked_[page / 64].fetch_or(bit_of(page), std::memory_order_relaxed);
    }

    // Whether the home tracks its own writes to the page.
    [[nodiscard]] bool is_tracked(PageNumber page) const noexcept {
        const std::uint64_t bits = due_[page / 64].load(std::memory_order_relaxed) |
                                   tracked_[page / 64].load(std::memory_order_relaxed);
        return (bits & bit_of(page)) != 0;
    }

    // The home loses the page: no mark of it stays. In the barrier that moves it, when all nodes
    // know the new home.
    void clear(PageNumber page) const noexcept {
        for (std::uint64_t i = 0; i < words_per_page_; ++i) {
            word(page, i).store(0, std::memory_order_relaxed);
        }
        tracked_[page / 64].fetch_and(~bit_of(page), std::memory_order_relaxed);
    }

    // Whether a mark has not been taken.
    [[nodiscard]] bool has(PageNumber page, NodeNumber node) const noexcept {
        return (word(page, node / 64).load(std::memory_order_relaxed) >> node % 64 & 1) != 0;
    }

private:
    [[nodiscard]] static constexpr std::uint64_t words_of(std::uint64_t bits) noexcept {
        return (bits + 63) / 64;
    }

    [[nodiscard]] static constexpr std::uint64_t bit_of(PageNumber page) noexcept {
        return std::uint64_t{1} << page % 64;
    }

    // A bit for each page of a group.
    [[nodiscard]] std::uint64_t group_bits(std::uint64_t group) const noexcept {
        const std::uint64_t pages = pages_ - group * 64;
        return pages >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << pages) - 1;
    }

    [[nodiscard]] Word& word(PageNumber page, std::uint64_t index) const noexcept {
        return nodes_[page * words_per_page_ + index];
    }

    // A mark is cleared when its page is due, and visited: a process that repeats finds what is left.
    template <typename Visit>
    void take_page(PageNumber page, const Visit& visit) const {
        for (std::uint64_t i = 0; i < words_per_page_; ++i) {
            const std::uint64_t bits = word(page, i).load(std::memory_order_relaxed);
            if (bits == 0) continue;
            if (!is_tracked(page)) {
                due_[page / 64].fetch_or(bit_of(page), std::memory_order_relaxed);
            }
            for (std::uint64_t rest = bits; rest != 0; rest &= rest - 1) {
                visit(page, static_cast<NodeNumber>(
                                i * 64 + static_cast<std::uint64_t>(std::countr_zero(rest))));
            }
            word(page, i).fetch_and(~bits, std::memory_order_relaxed);
        }
    }

    Word* take_;     // the epoch of the last take; the home's process that takes writes it
    Word* marked_;   // a bit for each page that may have a mark
    Word* due_;      // a bit for each page that the home tracks as soon as its notice is exchanged
    Word* tracked_;  // a bit for each page that the home tracks
    Word* nodes_;    // a bit for each node, and that for each page
    std::uint64_t pages_;
    std::uint64_t words_per_page_;
};

}  // namespace acp::pages
