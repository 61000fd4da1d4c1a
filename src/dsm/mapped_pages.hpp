// SPDX-License-Identifier: BSD-3-Clause
// What this rank believes of the state of each page in its own mapping of the window: four bytes a
// page, private to the rank. The kernel's page table is no substitute (tracker.hpp). Knows no system
// call. Any thread, signal handlers included; no call blocks.
// Tests: tests/unit/dsm/mapped_pages_test.cpp, under the seeded scheduler.
//
// Transitions. F: a fault's handler; B: the rank's thread in a barrier; E: an eviction.
//   absent -> protected | written | untracked   F: map(), before the system call that maps the page
//   protected -> written                        F: admit_write(), before the page becomes writable
//   written -> protected                        B, harvest, before the page becomes read-only; also at the
//                                               release of a lock where the kernel records writes itself
//   untracked -> protected                      B, a home that another node caches now
//   mapped -> absent                            B, or E by try_drop()
// So a page that the kernel lets a thread write is never called protected: of a write that no fault
// reports the state knows already.
//
// Beside the state a page has a credit: a fault gives it credit_max, and each time that a fault on a
// page beside it fetches it too takes one. So pages that were touched together come in one copy when they
// are touched again, and a page that is not is fetched credit_max times in vain. The credit outlives
// barriers.
//
// A page also says whether a fault wanted it since the last barrier that dropped it: the fault was on
// the page, or fetched it for its credit. A page that was mapped beside those, since the node had it or
// the tracker maps whole blocks, was not wanted. It says, too, whether it was fetched ahead of a stream
// (dsm/page_streams.hpp) and no later fault showed that it was used.
//
// A fault and an eviction of one page by two threads of the rank: the fault enters the page, then
// reads the page word and maps the page; the eviction holds the page word, then drops the page here
// unless a thread has entered it. With the fence of each between its two steps either the fault
// finds the word held, and waits, or the eviction finds the page entered, and fails.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/assert.hpp"
#include "base/fence.hpp"

#include "pages/page.hpp"

namespace acp::dsm {

enum class MappedState : std::uint8_t { absent, is_protected, written, untracked };

struct ProcessorFence {
    static void order() noexcept { base::fence(std::memory_order_seq_cst); }
};

template <template <class> class Atomic = std::atomic, typename Fence = ProcessorFence>
class MappedPages {
public:
    // All pages are absent.
    explicit MappedPages(std::uint64_t pages)
        : words_(pages), is_used_((pages + group_pages - 1) / group_pages) {}

    // Pages of a group are looked at together.
    static constexpr std::uint64_t group_pages = 64;

    // Whether no page of the page's group was ever mapped: all of them are absent.
    [[nodiscard]] bool is_group_unused(pages::PageNumber page) const noexcept {
        return is_used_[page / group_pages].load(std::memory_order_relaxed) == 0;
    }

    [[nodiscard]] std::uint64_t pages() const noexcept { return words_.size(); }

    // relaxed, here and below: the page word orders the bytes of the page, and the system calls
    // order its mapping
    [[nodiscard]] MappedState state(pages::PageNumber page) const noexcept {
        return state_of(words_[page].load(std::memory_order_relaxed));
    }

    // --- In a fault

    // Keeps evictions away from the page until leave(). Before the caller reads the page word.
    void enter(pages::PageNumber page) noexcept {
        const std::uint32_t before = words_[page].fetch_add(one_thread, std::memory_order_relaxed);
        ACP_ASSERT(before < threads_limit);
        Fence::order();  // partner: try_drop()
    }

    // release: the page is mapped; partner: try_drop()
    void leave(pages::PageNumber page) noexcept {
        words_[page].fetch_add(std::uint32_t{0} - one_thread, std::memory_order_release);
    }

    // An absent page gets the state `as`, any other page keeps its own. Returns the state before.
    MappedState map(pages::PageNumber page, MappedState as) noexcept {
        return change(page,
                      [as](MappedState now) { return now == MappedState::absent ? as : now; });
    }

    // A protected page becomes a written one, any other page keeps its state. Returns the state
    // before.
    MappedState admit_write(pages::PageNumber page) noexcept {
        return change(page, [](MappedState now) {
            return now == MappedState::is_protected ? MappedState::written : now;
        });
    }

    // A written page becomes a protected one, any other page keeps its state. By any thread, also beside
    // an eviction.
    void protect(pages::PageNumber page) noexcept {
        change(page, [](MappedState now) {
            return now == MappedState::written ? MappedState::is_protected : now;
        });
    }

    static constexpr std::uint32_t credit_max = 7;

    [[nodiscard]] bool has_credit(pages::PageNumber page) const noexcept {
        return (words_[page].load(std::memory_order_relaxed) & credit_bits) != 0;
    }

    // The page was touched.
    void give_credit(pages::PageNumber page) noexcept {
        words_[page].fetch_or(credit_bits, std::memory_order_relaxed);
    }

    // The page was fetched beside another one.
    void take_credit(pages::PageNumber page) noexcept {
        std::uint32_t seen = words_[page].load(std::memory_order_relaxed);
        while ((seen & credit_bits) != 0 &&
               !words_[page].compare_exchange_strong(
                   seen, seen - one_credit, std::memory_order_relaxed, std::memory_order_relaxed)) {
        }
    }

    // A fault wanted the page, or showed that it was used.
    void want(pages::PageNumber page) noexcept {
        words_[page].fetch_or(wanted_bit, std::memory_order_relaxed);
        (void)take_ahead(page);
    }

    // The page was fetched ahead of a stream.
    void fetch_ahead(pages::PageNumber page) noexcept {
        words_[page].fetch_or(ahead_bit, std::memory_order_relaxed);
    }

    // --- In an eviction

    // The page becomes absent, without credit and unwanted; the caller holds the page word, and removes
    // the mapping afterwards.
    // Returns the state before; nothing, and changes nothing, if a thread has entered the page.
    [[nodiscard]] std::optional<MappedState> try_drop(pages::PageNumber page) noexcept {
        Fence::order();  // partner: enter()
        std::uint32_t seen = words_[page].load(std::memory_order_relaxed);
        while (seen < one_thread) {
            // acquire: the mapping that a fault has made; partner: leave()
            if (words_[page].compare_exchange_strong(seen, 0, std::memory_order_acquire,
                                                     std::memory_order_relaxed)) {
                return state_of(seen);
            }
        }
        return std::nullopt;
    }

    // Whether try_drop() would fail now.
    [[nodiscard]] bool is_entered(pages::PageNumber page) const noexcept {
        return words_[page].load(std::memory_order_relaxed) >= one_thread;
    }

    // --- In a barrier, where no thread of the rank touches the window, or in an eviction that dropped
    // the page

    void set(pages::PageNumber page, MappedState state) noexcept {
        change(page, [state](MappedState) { return state; });
    }

    // In a barrier that drops the page: whether a fault wanted it. The next call returns false.
    [[nodiscard]] bool take_wanted(pages::PageNumber page) noexcept {
        return take(page, wanted_bit);
    }

    // Whether the page was fetched ahead of a stream, and perhaps in vain. The next call returns false.
    [[nodiscard]] bool take_ahead(pages::PageNumber page) noexcept { return take(page, ahead_bit); }

private:
    // From the low end: the state, the credit, whether it was wanted, whether it was fetched ahead, and
    // the number of threads that have entered.
    static constexpr std::uint32_t one_credit = 4;
    static constexpr std::uint32_t credit_bits = credit_max * one_credit;
    static constexpr std::uint32_t wanted_bit = one_credit * (credit_max + 1);
    static constexpr std::uint32_t ahead_bit = 2 * wanted_bit;
    static constexpr std::uint32_t one_thread = 2 * ahead_bit;
    static constexpr std::uint32_t threads_limit = ~std::uint32_t{0} - one_thread;

    [[nodiscard]] static constexpr MappedState state_of(std::uint32_t word) noexcept {
        return static_cast<MappedState>(word & 3);
    }

    bool take(pages::PageNumber page, std::uint32_t bit) noexcept {
        if ((words_[page].load(std::memory_order_relaxed) & bit) == 0) return false;
        return (words_[page].fetch_and(~bit, std::memory_order_relaxed) & bit) != 0;
    }

    // Before a page of the group is mapped. relaxed: the thread that looks at the group is in a barrier,
    // or looks for writes of its own
    void use_group(pages::PageNumber page) noexcept {
        Atomic<std::uint32_t>& word = is_used_[page / group_pages];
        if (word.load(std::memory_order_relaxed) == 0) word.store(1, std::memory_order_relaxed);
    }

    template <typename Next>
    MappedState change(pages::PageNumber page, const Next& next_of) noexcept {
        std::uint32_t seen = words_[page].load(std::memory_order_relaxed);
        for (;;) {
            const MappedState now = state_of(seen);
            const MappedState next = next_of(now);
            if (next == now) return now;
            if (now == MappedState::absent) use_group(page);
            const std::uint32_t word = (seen & ~3U) | static_cast<std::uint32_t>(next);
            if (words_[page].compare_exchange_strong(seen, word, std::memory_order_relaxed,
                                                     std::memory_order_relaxed)) {
                return now;
            }
        }
    }

    std::vector<Atomic<std::uint32_t>> words_;
    std::vector<Atomic<std::uint32_t>> is_used_;  // by group: 1 if a page of it was mapped
};

}  // namespace acp::dsm
