// SPDX-License-Identifier: BSD-3-Clause
// The nodes that fetched a page since its home last asked: a bit for each node and page, in memory
// of the home's node. A node marks itself while it fetches, in flight with the fetch itself; the home
// takes the marks at its next barrier. So a page that no node caches costs its home no tracking.
// A node is home of some pages: the words of all others are zero, since a home that loses a page
// clears its words, and the new home never resets one: a fast node may have marked itself there
// before the new home has left the barrier that moved the page. Any thread of any process; no call
// blocks. A process that dies between the two stores of mark() leaves a mark that the next mark of
// the page shows; the fetch to which it belonged ended with the process.
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
        : marked_(words),
          nodes_(words + words_of(pages)),
          pages_(pages),
          words_per_page_(words_of(nodes)) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t pages,
                                                       NodeNumber nodes) noexcept {
        return (words_of(pages) + pages * words_of(nodes)) * sizeof(Word);
    }

    // A node fetches the page.
    void mark(PageNumber page, NodeNumber node) const noexcept {
        word(page, node / 64).fetch_or(std::uint64_t{1} << node % 64, std::memory_order_relaxed);
        // release: the mark; partner: take()
        marked_[page / 64].fetch_or(std::uint64_t{1} << page % 64, std::memory_order_release);
    }

    // The home takes the marks of all pages: calls visit(page, node) for each, in ascending order,
    // and clears it. A mark that another node makes at the same time is taken now or the next time.
    template <typename Visit>
    void take(const Visit& visit) const {
        for (std::uint64_t group = 0; group < words_of(pages_); ++group) {
            // acquire: the marks that mark() stored before
            std::uint64_t bits = marked_[group].load(std::memory_order_relaxed) == 0
                                     ? 0
                                     : marked_[group].exchange(0, std::memory_order_acquire);
            for (; bits != 0; bits &= bits - 1) {
                take_page(group * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)), visit);
            }
        }
    }

    // The home loses the page: no mark of it stays. In the barrier that moves it, when all nodes
    // know the new home.
    void clear(PageNumber page) const noexcept {
        for (std::uint64_t i = 0; i < words_per_page_; ++i) {
            word(page, i).store(0, std::memory_order_relaxed);
        }
    }

    // Whether a mark has not been taken.
    [[nodiscard]] bool has(PageNumber page, NodeNumber node) const noexcept {
        return (word(page, node / 64).load(std::memory_order_relaxed) >> node % 64 & 1) != 0;
    }

private:
    [[nodiscard]] static constexpr std::uint64_t words_of(std::uint64_t bits) noexcept {
        return (bits + 63) / 64;
    }

    [[nodiscard]] Word& word(PageNumber page, std::uint64_t index) const noexcept {
        return nodes_[page * words_per_page_ + index];
    }

    template <typename Visit>
    void take_page(PageNumber page, const Visit& visit) const {
        for (std::uint64_t i = 0; i < words_per_page_; ++i) {
            std::uint64_t bits = word(page, i).exchange(0, std::memory_order_relaxed);
            for (; bits != 0; bits &= bits - 1) {
                visit(page, static_cast<NodeNumber>(
                                i * 64 + static_cast<std::uint64_t>(std::countr_zero(bits))));
            }
        }
    }

    Word* marked_;  // a bit for each page that may have a mark
    Word* nodes_;   // a bit for each node, and that for each page
    std::uint64_t pages_;
    std::uint64_t words_per_page_;
};

}  // namespace acp::pages
