// SPDX-License-Identifier: BSD-3-Clause
// The state of a barrier that the ranks of a node share: the set of written pages, the rank that
// flushes a group of them, the pages of the notices, and the changes of each rank's mapping. Lies in
// memory of the node that outlives each rank. Knows no kernel facility and no network. Any thread of
// any rank; no call blocks.
//
// Words, their writers and readers; a group is 64 pages:
//   epoch      of the last barrier that ended on this node. Leader; all ranks
//   failure    of a rank's flush: its code, else 0. All ranks; the leader clears it
//   outcome    of the last barrier on all nodes: a code, or 0. Leader; all ranks
//   released   1: a rank of the node has released a lock with bound bytes in this epoch. All ranks; the
//              leader clears it
//   renewed    1: so has a rank of any node, before the last barrier. Leader; all ranks
//   copies_max the bound of the copies of others' pages, 0: none. All ranks
//   waiters    threads that may sleep on a page word or a claim. The sleepers; the rank that moved the
//              page or released the claim
//   fates      their number, or fates_max + 1: there are more. Leader; all ranks
//   fate[]     a word for each run. Leader; all ranks
//   claim[]    of a group: slot + 1 of the rank that flushes it, else 0. All ranks
//   written[]  a bit for each page with writes that were harvested and not flushed. Ranks set bits
//              when they harvest; the rank with the claim clears one before it reads the page
//   sending[]  a bit for each page whose writes the rank with the claim sends to the home
//   flushed[]  a bit for each page of which the home got writes in this epoch. The rank with the
//              claim sets a bit before it sends; the leader clears all when the notices are exchanged
//
// A rank that dies with a claim leaves its pages in `sending`, and another rank flushes them again,
// after it has completed what the journals say: a home that applies a difference twice has the same
// bytes. Writes that a dead rank did not harvest
// are lost, as in every release-consistent memory. A leader that dies leaves a step that the next
// leader repeats, with the same effect.
// Tests: tests/unit/dsm/node_state_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "dsm/window.hpp"

#include "pages/barrier_decision.hpp"
#include "pages/page_word.hpp"

namespace acp::dsm {

// The answer to a rank that wants to flush a group.
enum class GroupClaim : std::uint8_t {
    refused,  // another thread of a living rank has the claim
    claimed,
    inherited  // a dead rank had it: the caller completes what the journals say (page_journal.hpp)
};

template <template <class> class Atomic = std::atomic>
class NodeState {
public:
    using Word = Atomic<std::uint64_t>;

    static constexpr std::uint64_t group_pages = 64;
    static constexpr std::uint64_t fates_max = 4096;

    //   words  bytes(pages) of shared memory, zero at first
    NodeState(Word* words, std::uint64_t pages) noexcept
        : words_(words),
          fates_(words + head_words),
          claims_(fates_ + fates_max),
          written_(claims_ + groups_of(pages)),
          sending_(written_ + groups_of(pages)),
          flushed_(sending_ + groups_of(pages)),
          groups_(groups_of(pages)) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint64_t pages) noexcept {
        return (head_words + fates_max + 4 * groups_of(pages)) * sizeof(Word);
    }

    [[nodiscard]] std::uint64_t groups() const noexcept { return groups_; }

    // The epoch of the barrier that the ranks of this node enter next; 1 at first.
    [[nodiscard]] std::uint64_t next_epoch() const noexcept {
        // acquire: what the leader settled; partner: end_epoch()
        return words_[epoch_word].load(std::memory_order_acquire) + 1;
    }

    // The leader has settled the barrier.
    void end_epoch(std::uint64_t epoch) const noexcept {
        words_[epoch_word].store(epoch, std::memory_order_release);
    }

    // A rank of the node could not flush its writes, so the barrier fails.
    void note_failure(base::Code code) const noexcept {
        words_[failure_word].store(static_cast<std::uint64_t>(code), std::memory_order_relaxed);
    }

    // Returns what a rank noted, ok if none did, and forgets it.
    [[nodiscard]] base::Code take_failure() const noexcept {
        return static_cast<base::Code>(words_[failure_word].exchange(0, std::memory_order_relaxed));
    }

    // The leader says how the barrier ended on all nodes.
    void set_outcome(base::Code code) const noexcept {
        words_[outcome_word].store(static_cast<std::uint64_t>(code), std::memory_order_relaxed);
    }

    [[nodiscard]] base::Code outcome() const noexcept {
        return static_cast<base::Code>(words_[outcome_word].load(std::memory_order_relaxed));
    }

    // A rank of the node releases a lock to which bytes are bound.
    void note_released() const noexcept {
        // Every release of an epoch but the first finds it so. relaxed: the barrier orders it
        if (words_[released_word].load(std::memory_order_relaxed) == 0)
            words_[released_word].store(1, std::memory_order_relaxed);
    }

    [[nodiscard]] bool has_released() const noexcept {
        return words_[released_word].load(std::memory_order_relaxed) != 0;
    }

    void clear_released() const noexcept {
        words_[released_word].store(0, std::memory_order_relaxed);
    }

    // The leader says whether a rank of any node has released such a lock before the barrier.
    void set_renewed(bool is_renewed) const noexcept {
        words_[renewed_word].store(is_renewed ? 1 : 0, std::memory_order_relaxed);
    }

    [[nodiscard]] bool is_renewed() const noexcept {
        return words_[renewed_word].load(std::memory_order_relaxed) != 0;
    }

    // The number of threads that may sleep on a page word or a claim.
    [[nodiscard]] Word& waiters() const noexcept { return words_[waiters_word]; }

    // The most copies of other nodes' pages that the node keeps (pages/clock.hpp).
    void set_copies_max(std::uint64_t pages) const noexcept {
        words_[copies_word].store(pages, std::memory_order_relaxed);
    }

    // 0: no bound.
    [[nodiscard]] std::uint64_t copies_max() const noexcept {
        return words_[copies_word].load(std::memory_order_relaxed);
    }

    // --- Written pages.

    // A harvest found writes.
    void add_written(PageRange pages) const noexcept {
        for_each_mask(pages, [this](std::uint64_t group, std::uint64_t bits) {
            // release: the bytes written; partner: to_flush()
            written_[group].fetch_or(bits, std::memory_order_release);
        });
    }

    // The pages of a group that are to be flushed, a bit each: those that were written, and for the
    // rank with the claim those that a dead rank was sending.
    [[nodiscard]] std::uint64_t to_flush(std::uint64_t group) const noexcept {
        // acquire: the bytes written, by this rank's threads or by others
        return written_[group].load(std::memory_order_acquire) |
               sending_[group].load(std::memory_order_relaxed);
    }

    // Whether the home lacks writes to the page that were harvested. While no process maps the page it
    // changes to false alone.
    [[nodiscard]] bool has_unsent(pages::PageNumber page) const noexcept {
        // acquire, twice: begin_flush() sets the second bit before it clears the first one; and the
        // twin that end_flush() publishes
        if ((written_[page / group_pages].load(std::memory_order_acquire) & bit_of(page)) != 0)
            return true;
        return (sending_[page / group_pages].load(std::memory_order_acquire) & bit_of(page)) != 0;
    }

    // The rank with the claim reads the page from now on: a write behind this is harvested again.
    void begin_flush(pages::PageNumber page) const noexcept {
        sending_[page / group_pages].fetch_or(bit_of(page), std::memory_order_relaxed);
        // acq_rel: behind the bit above; and the bytes written
        written_[page / group_pages].fetch_and(~bit_of(page), std::memory_order_acq_rel);
    }

    // The home has the writes, and the twin too.
    void end_flush(pages::PageNumber page) const noexcept {
        // release: the twin; partner: to_flush()
        sending_[page / group_pages].fetch_and(~bit_of(page), std::memory_order_release);
    }

    // A rank flushes a group, or another thread does so.
    //   is_dead  bool(SlotNumber): whether a process has ended
    template <typename IsDead>
    [[nodiscard]] GroupClaim claim(std::uint64_t group,
                                   pages::SlotNumber slot,
                                   const IsDead& is_dead) const noexcept {
        // acquire: the twins that the claim's last owner changed; partner: release_claim()
        std::uint64_t seen = claims_[group].load(std::memory_order_relaxed);
        do {
            if (seen != 0 && !is_dead(static_cast<pages::SlotNumber>(seen - 1))) {
                return GroupClaim::refused;
            }
        } while (!claims_[group].compare_exchange_weak(seen, slot + 1, std::memory_order_acquire,
                                                       std::memory_order_relaxed));
        return seen == 0 ? GroupClaim::claimed : GroupClaim::inherited;
    }

    //   copies_max the bound of the copies of others' pages, 0: none. All ranks
    // seq_cst: before the caller looks whether a thread sleeps on the claim; partner: that thread, which
    // counts itself among waiters(), and then looks at the claim
    void release_claim(std::uint64_t group) const noexcept {
        claims_[group].store(0, std::memory_order_seq_cst);
    }

    // For waits: slot + 1 of the rank that has the claim, else 0.
    [[nodiscard]] const Word& claim_word(std::uint64_t group) const noexcept {
        return claims_[group];
    }

    // Forgets what was written: the pages are allocated no more.
    void forget(PageRange pages) const noexcept {
        for_each_mask(pages, [this](std::uint64_t group, std::uint64_t bits) {
            written_[group].fetch_and(~bits, std::memory_order_relaxed);
            sending_[group].fetch_and(~bits, std::memory_order_relaxed);
            flushed_[group].fetch_and(~bits, std::memory_order_relaxed);
        });
    }

    // --- Notices.

    void add_flushed(pages::PageNumber page) const noexcept {
        Word& word = flushed_[page / group_pages];
        if ((word.load(std::memory_order_relaxed) & bit_of(page)) == 0)
            word.fetch_or(bit_of(page), std::memory_order_relaxed);
    }

    // Calls visit(page) for each page that was flushed in this epoch, in ascending order.
    template <typename Visit>
    void for_each_flushed(const Visit& visit) const {
        for (std::uint64_t group = 0; group < groups_; ++group) {
            std::uint64_t bits = flushed_[group].load(std::memory_order_relaxed);
            for (; bits != 0; bits &= bits - 1) {
                visit(group * group_pages + static_cast<std::uint64_t>(std::countr_zero(bits)));
            }
        }
    }

    // The notices are exchanged, and settled.
    void clear_flushed() const noexcept {
        for (std::uint64_t group = 0; group < groups_; ++group) {
            if (flushed_[group].load(std::memory_order_relaxed) != 0) {
                flushed_[group].store(0, std::memory_order_relaxed);
            }
        }
    }

    // --- Fates.

    // The leader says what all ranks do with their mappings.
    void set_fates(std::span<const pages::FateRun> fates) const noexcept {
        std::uint64_t count = 0;
        for (pages::FateRun run : fates) {
            for (std::uint64_t rest = run.count; rest != 0; rest -= run.count) {
                run.count = std::min(rest, fate_pages_max);
                if (count < fates_max) {
                    fates_[count].store(packed(run), std::memory_order_relaxed);
                }
                run.first += run.count;
                count = std::min(count + 1, fates_max + 1);
            }
        }
        words_[fates_word].store(count, std::memory_order_release);
    }

    // Calls visit(run) for each run of the last barrier, in the order of set_fates(). Returns false, and calls
    // nothing, if there are more than fates_max: then each rank asks the page words.
    template <typename Visit>
    [[nodiscard]] bool for_each_fate(const Visit& visit) const {
        const std::uint64_t count = words_[fates_word].load(std::memory_order_acquire);
        if (count > fates_max) return false;
        for (std::uint64_t i = 0; i < count; ++i) {
            visit(unpacked(fates_[i].load(std::memory_order_relaxed)));
        }
        return true;
    }

private:
    static constexpr std::uint64_t head_words = 8;
    static constexpr std::uint64_t epoch_word = 0;
    static constexpr std::uint64_t failure_word = 1;
    static constexpr std::uint64_t waiters_word = 2;
    static constexpr std::uint64_t fates_word = 3;
    static constexpr std::uint64_t outcome_word = 4;
    static constexpr std::uint64_t released_word = 5;
    static constexpr std::uint64_t renewed_word = 6;
    static constexpr std::uint64_t copies_word = 7;
    static constexpr std::uint64_t fate_pages_max = std::uint64_t{1} << 20;

    [[nodiscard]] static constexpr std::uint64_t groups_of(std::uint64_t pages) noexcept {
        return (pages + group_pages - 1) / group_pages;
    }

    [[nodiscard]] static constexpr std::uint64_t bit_of(pages::PageNumber page) noexcept {
        return std::uint64_t{1} << page % group_pages;
    }

    // The kind in bits 0 .. 2, the number of pages less one in 3 .. 22, the first one above.
    [[nodiscard]] static constexpr std::uint64_t packed(const pages::FateRun& run) noexcept {
        return static_cast<std::uint64_t>(run.fate) | (run.count - 1) << 3 | run.first << 23;
    }

    [[nodiscard]] static constexpr pages::FateRun unpacked(std::uint64_t word) noexcept {
        return {word >> 23, (word >> 3 & (fate_pages_max - 1)) + 1,
                static_cast<pages::PageFate>(word & 7)};
    }

    template <typename Visit>
    static void for_each_mask(PageRange pages, const Visit& visit) {
        const std::uint64_t end = pages.first + pages.count;
        for (std::uint64_t page = pages.first; page < end;) {
            const std::uint64_t next = std::min((page / group_pages + 1) * group_pages, end);
            const std::uint64_t count = next - page;
            const std::uint64_t ones =
                count == group_pages ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
            visit(page / group_pages, ones << page % group_pages);
            page = next;
        }
    }

    Word* words_;
    Word* fates_;
    Word* claims_;
    Word* written_;
    Word* sending_;
    Word* flushed_;
    std::uint64_t groups_;
};

}  // namespace acp::dsm
