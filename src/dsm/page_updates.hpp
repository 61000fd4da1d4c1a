// SPDX-License-Identifier: BSD-3-Clause
// Which pages a rank fetches again inside the barrier that drops its copy, so that it touches them
// afterwards without a fault. Private to the rank. Knows no fault, mapping or network.
//
// The program chooses for a page, or leaves it to what the rank did so far (`learn`). The kernel does
// not say whether a page that is mapped was read, so the rule is built on faults alone:
//   1. A fault wanted the page (dsm/mapped_pages.hpp) between two drops, and again between the next
//      two: the page is fetched again at the next 4 drops.
//   2. At the drop behind them it is not fetched. If a fault wants it again, it is fetched at twice as
//      many drops as before (256 at most), then tried again in the same way; else rule 1 begins anew.
// So a page that the rank touches in each of n steps raises O(log n) faults, and one that it stops
// touching is fetched in vain about as often as it was fetched before, and at most 256 times.
//
// Threads: drop() by the thread in the barrier; choose() by any thread, outside of barriers. Other
// threads that choose for the same page at once: one of them wins.
// Tests: tests/unit/dsm/page_updates_test.cpp.
// Source: update and invalidate protocols of Munin (Carter et al., SOSP 1991).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "dsm/window.hpp"

#include "pages/page.hpp"

namespace acp::dsm {

enum class UpdateChoice : std::uint8_t {
    learn,
    always,  // at each drop of a copy that the rank has mapped
    never
};

enum class DroppedAs : std::uint8_t {
    absent,
    mapped,  // fetched by a barrier or by the program, or beside a page that a fault wanted
    wanted
};

class PageUpdates {
public:
    // All pages: learn.
    explicit PageUpdates(std::uint64_t pages) : words_(pages) {}

    // Forgets what was learned of the pages.
    void choose(PageRange pages, UpdateChoice choice) noexcept {
        for (std::uint64_t i = 0; i < pages.count; ++i) {
            // relaxed, here and below: no other data hangs on the word
            words_[pages.first + i].store(static_cast<std::uint16_t>(choice),
                                          std::memory_order_relaxed);
        }
    }

    // A barrier drops the page, which this rank had so. Returns whether to fetch it again.
    [[nodiscard]] bool drop(pages::PageNumber page, DroppedAs as) noexcept {
        std::atomic<std::uint16_t>& word = words_[page];
        const std::uint16_t seen = word.load(std::memory_order_relaxed);
        const auto choice = static_cast<UpdateChoice>(seen & choice_bits);
        if (choice != UpdateChoice::learn)
            return choice == UpdateChoice::always && as != DroppedAs::absent;
        const Learned now = after(unpacked(seen), as);
        const std::uint16_t next = packed(now);
        if (next != seen) word.store(next, std::memory_order_relaxed);
        return now.left != 0;
    }

private:
    struct Learned {
        std::uint32_t wanted = 0;  // drops in succession that each followed a fault for the page
        std::uint32_t left = 0;    // drops at which the page is fetched again
    };

    static constexpr std::uint32_t wanted_to_learn = 2;
    static constexpr std::uint32_t wanted_max = 8;
    static constexpr std::uint16_t choice_bits = 3;
    static constexpr std::uint32_t wanted_shift = 2;
    static constexpr std::uint32_t left_shift = 6;
    static_assert(std::uint32_t{1} << wanted_max < std::uint32_t{1} << (16 - left_shift));

    [[nodiscard]] static Learned after(Learned known, DroppedAs as) noexcept {
        if (as == DroppedAs::absent) return {};
        if (known.left != 0) return {known.wanted, known.left - 1};
        if (as != DroppedAs::wanted) return {};
        known.wanted = std::min(known.wanted + 1, wanted_max);
        if (known.wanted >= wanted_to_learn) known.left = std::uint32_t{1} << known.wanted;
        return known;
    }

    [[nodiscard]] static Learned unpacked(std::uint16_t word) noexcept {
        return {(std::uint32_t{word} >> wanted_shift) & 15, std::uint32_t{word} >> left_shift};
    }

    [[nodiscard]] static std::uint16_t packed(const Learned& known) noexcept {
        return static_cast<std::uint16_t>(known.wanted << wanted_shift | known.left << left_shift);
    }

    // From the low end: the choice in 2 bits, then `wanted` in 4, `left` in 10.
    std::vector<std::atomic<std::uint16_t>> words_;
};

}  // namespace acp::dsm
