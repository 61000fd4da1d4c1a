// SPDX-License-Identifier: BSD-3-Clause
// Which bytes of pages each node has written since the last barrier, as the home of the pages keeps
// them to find bytes that two nodes wrote: a chain of entries for each page, an entry for each node
// that has sent writes of the page. The entries come from a pool; where it is used up, the page is
// marked as unchecked. Bytes that a node has touched are kept in entries of their own, in the same way. In memory that the processes of the home's node share; offsets only.
//
// Any thread of any process calls add() and end(); for a page and a node one thread at a time, for a
// node sends one difference of a page after the other. clear() and the visits while no other
// thread changes the masks. A process that dies in a call leaves an entry of the pool unused, or masks
// without the last bytes. No call blocks.
//
// Words, their writers and readers:
//   taken      entries of the pool that were given out, maybe more than there are. All; clear()
//   unchecked  the number of pages that are marked. All; clear()
//   head[]     of a page: index + 1 of its first entry, 0: none; bit 63: the page is marked. All
//   entry[]    next index + 1 and node; page and rank; the mask, 64 words. The caller of add() that takes
//              the entry, before head[] names it; then the node's next calls
// Tests: tests/unit/pages/writer_masks_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "pages/difference.hpp"
#include "pages/homes.hpp"
#include "pages/page.hpp"

namespace acp::pages {

// A node that writes or touches a page, and its rank that does so.
struct PageWriter {
    static constexpr std::uint32_t unknown = 0;  // no rank has the page mapped, or it was not asked
    static constexpr std::uint32_t several = ~std::uint32_t{0};

    NodeNumber node = 0;
    std::uint32_t rank_next = unknown;  // the rank that alone has the page mapped, + 1
    bool has_touched = false;           // the bytes were touched: read or written
};

template <template <class> class Atomic = std::atomic>
class WriterMasks {
public:
    using Word = Atomic<std::uint64_t>;

    static constexpr std::uint64_t pages_max = std::uint64_t{1} << 31;
    // More nodes than that are not kept for one page.
    static constexpr std::uint64_t writers_max = 512;

    //   words     bytes(pages, entries) of shared memory, zero at first
    //   entries   of the pool, at most 2^31
    WriterMasks(Word* words, std::uint64_t pages, std::uint64_t entries) noexcept
        : words_(words),
          heads_(words + head_words),
          entries_(heads_ + pages),
          pages_(pages),
          count_(entries) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t pages,
                                                       std::uint64_t entries) noexcept {
        return (head_words + pages + entries * entry_words) * sizeof(Word);
    }

    // A node has written bytes of a page. Returns false if they are not kept: the page is marked.
    bool add(PageNumber page, const PageWriter& writer, const WrittenBytes& bytes) const noexcept {
        std::uint64_t own = 0;
        // acquire: the entries that the head names; partner: the exchange below
        std::uint64_t seen = heads_[page].load(std::memory_order_acquire);
        for (;;) {
            std::uint64_t length = 0;
            const std::uint64_t found = find(seen, key_of(writer), length);
            if (found != 0) {
                merge(found, writer, bytes);
                return true;
            }
            if (own == 0 && length < writers_max) own = take();
            if (own == 0) {
                mark(page);
                return false;
            }
            fill(own, seen & index_bits, page, writer, bytes);
            // acq_rel: the entry that was filled, and those of other nodes
            if (heads_[page].compare_exchange_weak(seen, (seen & unchecked_bit) | own,
                                                   std::memory_order_acq_rel,
                                                   std::memory_order_acquire))
                return true;
        }
    }

    // The writes of a node to a page are ordered before all that other nodes do from now on.
    void end(PageNumber page, NodeNumber node) const noexcept {
        std::uint64_t length = 0;
        const std::uint64_t found =
            find(heads_[page].load(std::memory_order_acquire), key_of({node}), length);
        if (found == 0) return;
        for (std::size_t line = 0; line < page_lines; ++line)
            mask_of(found, line).store(0, std::memory_order_relaxed);
    }

    // Calls visit(page) for each page that a node has written.
    template <typename Visit>
    void for_each_page(const Visit& visit) const {
        for (std::uint64_t entry = 1; entry <= taken(); ++entry) {
            const PageNumber page = page_of(entry);
            if (page < pages_ &&
                (heads_[page].load(std::memory_order_relaxed) & index_bits) == entry)
                visit(page);
        }
    }

    // Calls visit(const PageWriter&, const WrittenBytes&) for each node that has written the page.
    template <typename Visit>
    void for_each_writer(PageNumber page, const Visit& visit) const {
        std::uint64_t length = 0;
        std::uint64_t entry = heads_[page].load(std::memory_order_acquire) & index_bits;
        while (is_entry(entry) && length++ < writers_max) {
            WrittenBytes bytes;
            for (std::size_t line = 0; line < page_lines; ++line)
                bytes.set_line(line, mask_of(entry, line).load(std::memory_order_relaxed));
            const std::uint32_t key = entry_key(entry);
            visit(PageWriter{key & ~touched_bit, rank_of(entry), (key & touched_bit) != 0}, bytes);
            entry = next_of(entry);
        }
    }

    // The number of pages of which a node's writes were not kept.
    [[nodiscard]] std::uint64_t unchecked() const noexcept {
        return words_[unchecked_word].load(std::memory_order_relaxed);
    }

    // Forgets all: a barrier orders the writes.
    void clear() const noexcept {
        if (unchecked() != 0) {
            for (PageNumber page = 0; page < pages_; ++page)
                heads_[page].store(0, std::memory_order_relaxed);
        }
        for (std::uint64_t entry = 1; entry <= taken(); ++entry) {
            const PageNumber page = page_of(entry);
            if (page < pages_) heads_[page].store(0, std::memory_order_relaxed);
        }
        words_[taken_word].store(0, std::memory_order_relaxed);
        words_[unchecked_word].store(0, std::memory_order_relaxed);
    }

private:
    static constexpr std::uint64_t head_words = 8;
    static constexpr std::uint64_t taken_word = 0;
    static constexpr std::uint64_t unchecked_word = 1;
    static constexpr std::uint64_t entry_words = 2 + page_lines;
    static constexpr std::uint64_t index_bits = (std::uint64_t{1} << 32) - 1;
    static constexpr std::uint64_t unchecked_bit = std::uint64_t{1} << 63;
    static constexpr std::uint32_t touched_bit = std::uint32_t{1} << 31;

    // An entry is named by its index + 1.
    [[nodiscard]] Word& word_of(std::uint64_t entry, std::uint64_t word) const noexcept {
        return entries_[(entry - 1) * entry_words + word];
    }

    [[nodiscard]] Word& mask_of(std::uint64_t entry, std::size_t line) const noexcept {
        return word_of(entry, 2 + line);
    }

    [[nodiscard]] std::uint64_t next_of(std::uint64_t entry) const noexcept {
        return word_of(entry, 0).load(std::memory_order_relaxed) & index_bits;
    }

    // The node, and the bit.
    [[nodiscard]] static constexpr std::uint32_t key_of(const PageWriter& writer) noexcept {
        return writer.node | (writer.has_touched ? touched_bit : 0);
    }

    [[nodiscard]] std::uint32_t entry_key(std::uint64_t entry) const noexcept {
        return static_cast<std::uint32_t>(word_of(entry, 0).load(std::memory_order_relaxed) >> 32);
    }

    [[nodiscard]] PageNumber page_of(std::uint64_t entry) const noexcept {
        return word_of(entry, 1).load(std::memory_order_relaxed) & index_bits;
    }

    [[nodiscard]] std::uint32_t rank_of(std::uint64_t entry) const noexcept {
        return static_cast<std::uint32_t>(word_of(entry, 1).load(std::memory_order_relaxed) >> 32);
    }

    // The memory may come from a faulty process: no index leads outside of it.
    [[nodiscard]] bool is_entry(std::uint64_t entry) const noexcept {
        return entry != 0 && entry <= count_;
    }

    [[nodiscard]] std::uint64_t taken() const noexcept {
        return std::min(words_[taken_word].load(std::memory_order_relaxed), count_);
    }

    // The entry of a node in the chain of a head, or 0.
    //   length  gets the number of other entries
    [[nodiscard]] std::uint64_t find(std::uint64_t head,
                                     std::uint32_t key,
                                     std::uint64_t& length) const noexcept {
        length = 0;
        for (std::uint64_t entry = head & index_bits; is_entry(entry) && length < writers_max;
             entry = next_of(entry)) {
            if (entry_key(entry) == key) return entry;
            ++length;
        }
        return 0;
    }

    // Returns 0 if the pool is used up.
    [[nodiscard]] std::uint64_t take() const noexcept {
        if (taken() == count_) return 0;
        const std::uint64_t before = words_[taken_word].fetch_add(1, std::memory_order_relaxed);
        return before < count_ ? before + 1 : 0;
    }

    void fill(std::uint64_t entry,
              std::uint64_t next,
              PageNumber page,
              const PageWriter& writer,
              const WrittenBytes& bytes) const noexcept {
        word_of(entry, 0).store(next | std::uint64_t{key_of(writer)} << 32,
                                std::memory_order_relaxed);
        word_of(entry, 1).store(page | std::uint64_t{writer.rank_next} << 32,
                                std::memory_order_relaxed);
        for (std::size_t line = 0; line < page_lines; ++line)
            mask_of(entry, line).store(bytes.line(line), std::memory_order_relaxed);
    }

    void merge(std::uint64_t entry,
               const PageWriter& writer,
               const WrittenBytes& bytes) const noexcept {
        for (std::size_t line = 0; line < page_lines; ++line) {
            if (bytes.line(line) != 0)
                mask_of(entry, line).fetch_or(bytes.line(line), std::memory_order_relaxed);
        }
        const std::uint32_t before = rank_of(entry);
        if (before == writer.rank_next || writer.rank_next == PageWriter::unknown) return;
        const std::uint32_t now =
            before == PageWriter::unknown ? writer.rank_next : PageWriter::several;
        word_of(entry, 1).store(page_of(entry) | std::uint64_t{now} << 32,
                                std::memory_order_relaxed);
    }

    void mark(PageNumber page) const noexcept {
        const std::uint64_t before =
            heads_[page].fetch_or(unchecked_bit, std::memory_order_relaxed);
        if ((before & unchecked_bit) == 0)
            words_[unchecked_word].fetch_add(1, std::memory_order_relaxed);
    }

    Word* words_;
    Word* heads_;
    Word* entries_;
    std::uint64_t pages_;
    std::uint64_t count_;  // the number of entries
};

}  // namespace acp::pages
