// SPDX-License-Identifier: BSD-3-Clause
// The copies of pages that each rank of a node has in flight to and from homes while threads write the
// pages, in memory of the node that outlives each rank; an entry for each copy names its step. A rank that inherits the claim of a dead one (dsm/node_state.hpp) finds here
// the bytes that the home may have in part, and completes the step: the page itself may have other
// bytes by then. Knows no protocol. Entries of a rank: its flusher writes them; the flusher of another
// rank of the node reads and ends them when it has inherited the claim of the page's group.
// Tests: tests/unit/dsm/page_journal_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pages/page.hpp"

namespace acp::dsm {

enum class JournalStep : std::uint8_t {
    none,
    sending,  // the copy is the page as it was sent: its difference from the twin goes to the home
    merging   // the copy is the home's page, which is merged into page and twin
};

struct JournalEntry {
    JournalStep step = JournalStep::none;
    pages::PageNumber page = 0;
};

// The journal of one rank.
class PageJournal {
public:
    static constexpr std::size_t pages_max = 8;
    // A page of entries, and the copies.
    static constexpr std::uint64_t bytes = (1 + pages_max) * pages::page_bytes;

    //   memory  `bytes` bytes of shared memory, aligned to pages, zero at first
    explicit PageJournal(std::byte* memory) noexcept : memory_(memory) {}

    //   index  below pages_max, here and below
    [[nodiscard]] pages::PageSpan copy(std::size_t index) const noexcept {
        return pages::PageSpan(memory_ + (1 + index) * pages::page_bytes, pages::page_bytes);
    }

    // The copy has its bytes.
    void begin(std::size_t index, JournalStep step, pages::PageNumber page) const noexcept {
        // release: the copy; partner: read()
        word(index).store(page << step_bits | static_cast<std::uint64_t>(step),
                          std::memory_order_release);
    }

    // release: the twin; partner: read()
    void end(std::size_t index) const noexcept { word(index).store(0, std::memory_order_release); }

    [[nodiscard]] JournalEntry read(std::size_t index) const noexcept {
        const std::uint64_t seen = word(index).load(std::memory_order_acquire);
        return {static_cast<JournalStep>(seen & ((1U << step_bits) - 1)), seen >> step_bits};
    }

private:
    static constexpr std::uint32_t step_bits = 2;

    [[nodiscard]] std::atomic<std::uint64_t>& word(std::size_t index) const noexcept {
        return reinterpret_cast<std::atomic<std::uint64_t>*>(memory_)[index];
    }

    std::byte* memory_;
};

// The journals of all ranks of a node, by their slots.
class PageJournals {
public:
    PageJournals(std::byte* memory, std::uint32_t ranks) noexcept
        : memory_(memory), ranks_(ranks) {}

    [[nodiscard]] std::uint32_t ranks() const noexcept { return ranks_; }

    [[nodiscard]] PageJournal of(std::uint32_t slot) const noexcept {
        return PageJournal(memory_ + slot * PageJournal::bytes);
    }

private:
    std::byte* memory_;
    std::uint32_t ranks_;
};

}  // namespace acp::dsm
