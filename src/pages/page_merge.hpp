// SPDX-License-Identifier: BSD-3-Clause
// Merges the home's newest bytes into a node's copy of a page while threads of the node read and write
// the copy, and copies a page under such threads. An aligned word of 8 bytes changes in one store and is
// read in one load, so that a thread sees the values alone that were stored. Pure; any thread.
//
// A byte of the newest page that differs from the twin was written elsewhere; a program
// without data races does not write it here at the same time. Such bytes go to the page, and then to the twin,
// word by word; all others stay. So a process that is killed in between leaves at most one word, the
// first one whose twin differs from the newest page, of which the page may have the bytes and the twin
// not: finish() settles it. Without that, a difference of page and twin would send the home's former
// bytes as writes of this node.
// Tests: tests/unit/pages/page_merge_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pages/page.hpp"

namespace acp::pages {

inline constexpr std::size_t page_words = page_bytes / sizeof(std::uint64_t);

// All bits of the bytes that are not zero.
[[nodiscard]] constexpr std::uint64_t bits_of_bytes(std::uint64_t word) noexcept {
    constexpr std::uint64_t low_bits = 0x7f7f7f7f7f7f7f7fU;
    const std::uint64_t marks = (((word & low_bits) + low_bits) | word) & ~low_bits;
    return (marks >> 7) * 0xff;
}

// Stores the bytes of a mask of bits into an aligned word, by one store. release: the caller's
// earlier stores; partners: the threads that read the word.
template <typename Word>
void store_bytes(Word& word, std::uint64_t value, std::uint64_t mask) noexcept {
    if (mask == ~std::uint64_t{0}) {
        word.store(value, std::memory_order_release);
        return;
    }
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(seen, (seen & ~mask) | (value & mask),
                                       std::memory_order_release, std::memory_order_relaxed)) {
    }
}

template <template <class> class Atomic = std::atomic>
class PageMerge {
public:
    using Word = Atomic<std::uint64_t>;

    //   page    page_words words, which other threads read and write
    //   twin    as many, the caller's alone
    //   newest  as many, of the home, from after it got all of this node's writes that the twin has
    PageMerge(Word* page, Word* twin, const std::uint64_t* newest) noexcept
        : page_(page), twin_(twin), newest_(newest) {}

    // Returns the number of words that changed.
    std::size_t merge() const noexcept {
        std::size_t count = 0;
        for (std::size_t i = 0; i < page_words; ++i) {
            const std::uint64_t before = twin_[i].load(std::memory_order_relaxed);
            if (before == newest_[i]) continue;
            store_bytes(page_[i], newest_[i], bits_of_bytes(before ^ newest_[i]));
            // release: behind the page's word; partner: finish() after the end of this process
            twin_[i].store(newest_[i], std::memory_order_release);
            ++count;
        }
        return count;
    }

    // After the end of a process in merge(): the words that it merged stay, and those behind them are as
    // before. Repeating it changes nothing. If a thread has overwritten the bytes of the one word in
    // question by those of the twin, since it saw them, they count as not merged.
    void finish() const noexcept {
        for (std::size_t i = 0; i < page_words; ++i) {
            const std::uint64_t before = twin_[i].load(std::memory_order_acquire);
            if (before == newest_[i]) continue;
            const std::uint64_t mask = bits_of_bytes(before ^ newest_[i]);
            const std::uint64_t now = page_[i].load(std::memory_order_relaxed);
            if (((now ^ before) & mask) != 0) twin_[i].store(newest_[i], std::memory_order_release);
            return;
        }
    }

private:
    Word* page_;
    Word* twin_;
    const std::uint64_t* newest_;
};

// The words of a page in shared memory.
[[nodiscard]] inline std::atomic<std::uint64_t>* words_of(PageSpan page) noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(page.data());
}

// Copies a page that other threads write.
//   target  the caller's alone
inline void copy_words(PageSpan target, PageSpan source) noexcept {
    auto* const to = reinterpret_cast<std::uint64_t*>(target.data());
    for (std::size_t i = 0; i < page_words; ++i) {
        // relaxed: which of the writes beside it are in the copy is left open
        to[i] = words_of(source)[i].load(std::memory_order_relaxed);
    }
}

}  // namespace acp::pages
