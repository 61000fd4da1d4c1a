// SPDX-License-Identifier: BSD-3-Clause
// The word of a page on one node: whether the node has its bytes, which process moves them, and
// which processes map them. The words lie in memory that the node's processes share. The word is
// authoritative: the bytes belong to the process that changed it to `held`, which alone fetches,
// flushes or drops them. A process that dies or stops at any store leaves a word by which the others
// continue: a dead holder's page is taken over, and its bytes are fetched again. Any thread of any
// process; no call blocks.
// Tests: tests/unit/pages/page_word_test.cpp, page_word_schedule_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "pages/page.hpp"

namespace acp::pages {

enum class PageState : std::uint8_t {
    absent,  // the node has no bytes, and no process maps the page
    held,    // one process moves the bytes, all others wait
    valid,   // a copy of the home's bytes
    home     // the newest bytes, which other nodes fetch
};

// A process of the node.
using SlotNumber = std::uint32_t;
inline constexpr SlotNumber slots_max = 0xfffe;

// A value of the word. Zero, as on a fresh page, is an absent page that was never written.
struct PageWord {
    inline static constexpr std::uint32_t none = 0;
    inline static constexpr std::uint32_t several = 0xffff;

    PageState state = PageState::absent;
    // A held page has its holder here, and a valid one the process that maps it, as its slot + 1. A
    // valid page that no process or more than one maps has `none` or `several`. Between barriers
    // only a page goes that its dropper alone maps.
    std::uint32_t who = none;
    // The node's last epoch with a write to the page, < 2^46 (2,000 years at 1,000 a second).
    std::uint64_t epoch = 0;

    [[nodiscard]] constexpr bool is_held_by(SlotNumber slot) const noexcept {
        return state == PageState::held && who == slot + 1;
    }

    [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
        return static_cast<std::uint64_t>(state) | std::uint64_t{who} << 2 | epoch << 18;
    }

    [[nodiscard]] static constexpr PageWord unpacked(std::uint64_t word) noexcept {
        return {static_cast<PageState>(word & 3), static_cast<std::uint32_t>(word >> 2 & 0xffff),
                word >> 18};
    }
};

// The duty of a process that touched a page.
enum class PageAccess : std::uint8_t {
    map,    // the bytes are here, and the word says that the process maps them
    fetch,  // it holds the page: fetch the bytes, then end_fetch() or abandon()
    wait    // another process or thread moves the bytes: wait until the word changes
};

template <template <class> class Atomic = std::atomic>
class PageWords {
public:
    using Word = Atomic<std::uint64_t>;

    //   words  one for each page, in shared memory, zero at first
    PageWords(Word* words, std::uint64_t pages) noexcept : words_(words), pages_(pages) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t pages) noexcept {
        return pages * sizeof(Word);
    }

    [[nodiscard]] std::uint64_t pages() const noexcept { return pages_; }

    // For waits: a word changes whenever the bytes have been moved.
    [[nodiscard]] const Word& word(PageNumber page) const noexcept { return words_[page]; }

    [[nodiscard]] PageWord read(PageNumber page) const noexcept {
        // acquire: the bytes; partner: end_fetch()
        return PageWord::unpacked(words_[page].load(std::memory_order_acquire));
    }

    // A process touches a page.
    //   is_dead  bool(SlotNumber): whether a process has ended; then none of its threads runs
    template <typename IsDead>
    [[nodiscard]] PageAccess access(PageNumber page,
                                    SlotNumber slot,
                                    const IsDead& is_dead) const noexcept {
        std::uint64_t seen = words_[page].load(std::memory_order_acquire);
        for (;;) {
            const PageWord now = PageWord::unpacked(seen);
            PageWord next = now;
            switch (now.state) {
                case PageState::home:
                    return PageAccess::map;
                case PageState::valid:
                    if (now.who == slot + 1 || now.who == PageWord::several) return PageAccess::map;
                    next.who = now.who == PageWord::none ? slot + 1 : PageWord::several;
                    break;
                case PageState::held:
                    if (!is_dead(now.who - 1)) return PageAccess::wait;
                    [[fallthrough]];
                case PageState::absent:
                    next.state = PageState::held;
                    next.who = slot + 1;
                    break;
            }
            if (change(page, seen, next)) {
                return next.state == PageState::held ? PageAccess::fetch : PageAccess::map;
            }
        }
    }

    // A process touches a page beside another one. Returns whether the node has the bytes, and the word
    // says that the process maps them; else nothing has changed.
    [[nodiscard]] bool try_map(PageNumber page, SlotNumber slot) const noexcept {
        std::uint64_t seen = words_[page].load(std::memory_order_acquire);
        for (;;) {
            PageWord next = PageWord::unpacked(seen);
            if (next.state == PageState::home) return true;
            if (next.state != PageState::valid) return false;
            if (next.who == slot + 1 || next.who == PageWord::several) return true;
            next.who = next.who == PageWord::none ? slot + 1 : PageWord::several;
            if (change(page, seen, next)) return true;
        }
    }

    // The holder has stored the bytes.
    //   is_mapped  whether it maps them; else it fetched them ahead
    // Returns false, and changes nothing, if the page is no longer its own.
    bool end_fetch(PageNumber page, SlotNumber slot, bool is_mapped) const noexcept {
        return end(page, slot, PageState::valid, is_mapped ? slot + 1 : PageWord::none);
    }

    // The holder could not fetch the bytes, or has dropped them. Returns as end_fetch().
    bool abandon(PageNumber page, SlotNumber slot) const noexcept {
        return end(page, slot, PageState::absent, PageWord::none);
    }

    // Holds a page in order to give its memory back: the caller removes its mapping, then sends its
    // writes to the home, and ends with abandon() or cancel_drop().
    // Returns the word before: a valid page, an absent one, whose memory has bytes out of date, or one
    // whose holder has died. Returns nothing, and changes nothing, if another living process maps the
    // page or holds it, or if it is a home.
    template <typename IsDead>
    [[nodiscard]] std::optional<PageWord> begin_drop(PageNumber page,
                                                     SlotNumber slot,
                                                     const IsDead& is_dead) const noexcept {
        std::uint64_t seen = words_[page].load(std::memory_order_acquire);
        for (;;) {
            const PageWord now = PageWord::unpacked(seen);
            if (now.state == PageState::home || now.who == PageWord::several) return std::nullopt;
            const bool is_mine = now.state == PageState::valid && now.who == slot + 1;
            if (now.who != PageWord::none && !is_mine && !is_dead(now.who - 1)) return std::nullopt;
            if (change(page, seen, {PageState::held, slot + 1, now.epoch})) return now;
        }
    }

    // The holder keeps the page: it is as it was.
    //   before  what begin_drop() returned
    void cancel_drop(PageNumber page, SlotNumber slot, const PageWord& before) const noexcept {
        const bool is_valid = before.state == PageState::valid;
        (void)end(page, slot, is_valid ? PageState::valid : PageState::absent,
                  is_valid ? before.who : PageWord::none);
    }

    // Notes that this node wrote the page in an epoch. Never lowers the epoch.
    void note_write(PageNumber page, std::uint64_t epoch) const noexcept {
        std::uint64_t seen = words_[page].load(std::memory_order_relaxed);
        for (;;) {
            PageWord next = PageWord::unpacked(seen);
            if (next.epoch >= epoch) return;
            next.epoch = epoch;
            if (change(page, seen, next)) return;
        }
    }

    // --- In a barrier, by one process, while no living process of the node touches pages. Each is
    // one store, and repeating it changes nothing: another process repeats what a killed one began.

    // A notice says that another node wrote the page: the copy, or a dead process's half of one, is
    // of no use. No effect on a home.
    void invalidate(PageNumber page) const noexcept {
        settle(page, [](PageWord& word) {
            if (word.state != PageState::home) word = {PageState::absent, 0, word.epoch};
        });
    }

    // This node becomes the home. Its copy must be valid, or the caller stores the bytes before.
    void become_home(PageNumber page) const noexcept {
        settle(page, [](PageWord& word) { word = {PageState::home, 0, word.epoch}; });
    }

    // Another node became the home.
    //   keeps_copy  the bytes are the new home's; else they are absent
    void lose_home(PageNumber page, bool keeps_copy) const noexcept {
        settle(page, [&](PageWord& word) {
            if (word.state != PageState::home) return;
            word.state = keeps_copy ? PageState::valid : PageState::absent;
            word.who = keeps_copy ? PageWord::several : PageWord::none;
        });
    }

private:
    // acq_rel: the bytes that the last holder stored, and those that this one has; partners are all
    // other changes of the word. On failure `seen` is the newer word, with its bytes.
    bool change(PageNumber page, std::uint64_t& seen, const PageWord& next) const noexcept {
        return words_[page].compare_exchange_strong(seen, next.packed(), std::memory_order_acq_rel,
                                                    std::memory_order_acquire);
    }

    bool end(PageNumber page, SlotNumber slot, PageState state, std::uint32_t who) const noexcept {
        std::uint64_t seen = words_[page].load(std::memory_order_relaxed);
        for (;;) {
            const PageWord now = PageWord::unpacked(seen);
            if (!now.is_held_by(slot)) return false;
            if (change(page, seen, {state, who, now.epoch})) return true;
        }
    }

    template <typename Edit>
    void settle(PageNumber page, const Edit& edit) const noexcept {
        std::uint64_t seen = words_[page].load(std::memory_order_relaxed);
        for (;;) {
            PageWord next = PageWord::unpacked(seen);
            edit(next);
            if (next.packed() == seen || change(page, seen, next)) return;
        }
    }

    Word* words_;
    std::uint64_t pages_;
};

}  // namespace acp::pages
