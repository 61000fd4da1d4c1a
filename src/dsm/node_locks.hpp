// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a node share of the locks to which long ranges are bound (dsm/long_ranges.hpp).
// Lies in memory of the node that outlives each rank. Knows no lock's words, no network and no bytes.
// Any thread of any rank; no call blocks.
//
// Words, their writers and readers:
//   changed[]  a bit for each page that lies in one range as a whole: the page was written since the
//              last release. Ranks set bits before they send the writes to the home; the holder of the
//              range's lock takes them
//   seen       of a range: the number of the last release whose changes the node has. Its holders
//   holder     of a range: slot + 1 of the rank of this node that holds the lock, or that died as its
//              holder and left writes in the node's copies; with the serial of the binding, and with
//              what `changed` says of the range's first and last page, which other ranges may share.
//              The holder; ranks that send writes
//
// A range has more bytes than travel with a lock, so two ranges never begin in the same `stride`: the
// place of a range's words follows from its first byte. The words of a former binding count as none, by
// the serial and by the numbers of the releases, which begin anew above those of all former bindings:
// so no rank clears words that a faster one uses already.
// Tests: tests/unit/dsm/node_locks_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "dsm/bound_ranges.hpp"
#include "dsm/window.hpp"

#include "pages/page_word.hpp"

namespace acp::dsm {

template <template <class> class Atomic = std::atomic>
class NodeLocks {
public:
    using Word = Atomic<std::uint64_t>;

    // A long range has more bytes.
    static constexpr std::uint64_t stride = 992;

    // For a node without locks.
    NodeLocks() noexcept = default;

    //   words  bytes(pages) of shared memory, zero at first
    NodeLocks(Word* words, std::uint64_t pages) noexcept
        : changed_(words), ranges_(words + groups_of(pages)) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t pages) noexcept {
        return (groups_of(pages) + words_of_range * places_of(pages)) * sizeof(Word);
    }

    // The number of the last release that the node has seen.
    [[nodiscard]] std::uint64_t seen(const BoundRange& range) const noexcept {
        return std::max(seen_word(range).load(std::memory_order_relaxed), range.first_release());
    }

    // Never lowers the number.
    void note_seen(const BoundRange& range, std::uint64_t release) const noexcept {
        Word& word = seen_word(range);
        std::uint64_t now = word.load(std::memory_order_relaxed);
        while (now < release && !word.compare_exchange_weak(now, release, std::memory_order_relaxed,
                                                            std::memory_order_relaxed)) {
        }
    }

    // Slot + 1 of the rank of this node that holds the lock or died as its holder, else 0.
    [[nodiscard]] std::uint32_t holder(const BoundRange& range) const noexcept {
        const std::uint64_t word = holder_word(range).load(std::memory_order_acquire);
        return is_of(word, range) ? static_cast<std::uint32_t>(word & holder_bits) : 0;
    }

    // The rank holds the lock, and the node's copies are right.
    void begin_hold(const BoundRange& range, pages::SlotNumber slot) const noexcept {
        change(range, [slot](std::uint64_t word) { return (word & ~holder_bits) | (slot + 1); });
    }

    // The rank has released the lock. No effect if another rank of the node has taken it since.
    void end_hold(const BoundRange& range, pages::SlotNumber slot) const noexcept {
        change(range, [slot](std::uint64_t word) {
            return (word & holder_bits) == slot + 1 ? word & ~holder_bits : word;
        });
    }

    // This node sends writes of a page that has bytes of the range.
    void note_changed(const BoundRange& range, pages::PageNumber page) const noexcept {
        if (range.has_whole(page)) {
            Word& word = changed_[page / 64];
            if ((word.load(std::memory_order_relaxed) & bit_of(page)) == 0)
                word.fetch_or(bit_of(page), std::memory_order_relaxed);
            return;
        }
        const std::uint64_t edge = page == range.pages().first ? first_edge : last_edge;
        change(range, [edge](std::uint64_t word) { return word | edge; });
    }

    // The holder of the lock takes the changed pages of the range: calls visit(page) for each, in
    // ascending order, and forgets them.
    template <typename Visit>
    void take_changed(const BoundRange& range, const Visit& visit) const {
        const PageRange pages = range.pages();
        const pages::PageNumber last = pages.first + pages.count - 1;
        std::uint64_t edges = 0;
        change(range, [&edges](std::uint64_t word) {
            edges = word & (first_edge | last_edge);
            return word & ~(first_edge | last_edge);
        });
        if ((edges & first_edge) != 0) visit(pages.first);
        const pages::PageNumber begin = pages.first + (range.has_whole(pages.first) ? 0 : 1);
        const pages::PageNumber end = last + (range.has_whole(last) ? 1 : 0);
        for (pages::PageNumber at = begin; at < end; at = (at / 64 + 1) * 64) {
            const pages::PageNumber group_end = std::min((at / 64 + 1) * 64, end);
            for (std::uint64_t bits = take_group(at, group_end); bits != 0; bits &= bits - 1)
                visit(at / 64 * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)));
        }
        if ((edges & last_edge) != 0) visit(last);
    }

private:
    static constexpr std::uint64_t words_of_range = 2;
    static constexpr std::uint64_t holder_bits = 0xffff;
    static constexpr std::uint64_t first_edge = 1U << 16;
    static constexpr std::uint64_t last_edge = 1U << 17;
    static constexpr std::uint32_t serial_shift = 18;

    [[nodiscard]] static constexpr std::uint64_t groups_of(std::uint64_t pages) noexcept {
        return (pages + 63) / 64;
    }

    [[nodiscard]] static constexpr std::uint64_t places_of(std::uint64_t pages) noexcept {
        return pages * pages::page_bytes / stride + 1;
    }

    [[nodiscard]] static constexpr std::uint64_t bit_of(pages::PageNumber page) noexcept {
        return std::uint64_t{1} << page % 64;
    }

    // Pages of one group.
    std::uint64_t take_group(pages::PageNumber begin, pages::PageNumber end) const noexcept {
        const std::uint64_t count = end - begin;
        const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : bit_of(count) - 1;
        const std::uint64_t mask = ones << begin % 64;
        Word& word = changed_[begin / 64];
        if ((word.load(std::memory_order_relaxed) & mask) == 0) return 0;
        return word.fetch_and(~mask, std::memory_order_relaxed) & mask;
    }

    [[nodiscard]] static bool is_of(std::uint64_t word, const BoundRange& range) noexcept {
        return word >> serial_shift == range.serial;
    }

    // acq_rel: the bytes of the range that the holder has refreshed; partner: holder()
    template <typename Next>
    void change(const BoundRange& range, const Next& next_of) const noexcept {
        Word& word = holder_word(range);
        std::uint64_t seen = word.load(std::memory_order_relaxed);
        for (;;) {
            const std::uint64_t now = is_of(seen, range) ? seen : range.serial << serial_shift;
            const std::uint64_t next = next_of(now);
            if (next == seen || word.compare_exchange_weak(seen, next, std::memory_order_acq_rel,
                                                           std::memory_order_relaxed)) {
                return;
            }
        }
    }

    [[nodiscard]] Word& seen_word(const BoundRange& range) const noexcept {
        return ranges_[words_of_range * (range.first / stride)];
    }

    [[nodiscard]] Word& holder_word(const BoundRange& range) const noexcept {
        return ranges_[words_of_range * (range.first / stride) + 1];
    }

    Word* changed_ = nullptr;
    Word* ranges_ = nullptr;
};

}  // namespace acp::dsm
