// SPDX-License-Identifier: BSD-3-Clause
// Blocks of a heap on loan to a process, which uses the block for bytes in transit; no other
// process knows the block. A loan names the block and the process; it ends when the block is given
// to a container or freed. Recovery of the process ends its loans and frees the blocks. A call on
// behalf of the process holds the loan while it uses the block, so that recovery does not end it;
// after the loan of a process that was wrongly marked dead has ended, its later requests are
// refused. A loan is removed just before its block is freed, so that a process killed in between
// leaves either the loan or a block named in its word `freeing` (table/freeing.hpp). A block that
// replaces another one of the program is on loan until it has the content; then the loan is
// transferred to the old block in one step: if the process is killed, one of the two stays. An
// unused container is on loan to the process that made it: the first use by any process ends that
// loan.
// Writers: processes of the node, the gateway of the heap's node on behalf of processes of other
// nodes, and recovering processes. Zero bytes are no loans. Atomic: see heap/heap.hpp. Any thread;
// no call waits.
// Tests: tests/unit/heap/loans_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/offset.hpp"
#include "heap/size_classes.hpp"

namespace acp::heap {

// The kind of a loan: a block of bytes, or an unused container, by the block it begins with.
enum class Lent : std::uint64_t { bytes, container };

template <template <class> class Atomic = std::atomic>
class Loans {
public:
    //   memory  bytes(count), zero at first, aligned to 8
    //   count   the most loans at the same time
    Loans(char* memory, std::uint32_t count) noexcept
        : ender_(reinterpret_cast<Atomic<std::uint64_t>*>(memory)),
          words_(ender_ + 1),
          count_(count) {}

    [[nodiscard]] static constexpr std::uint64_t bytes(std::uint32_t count) noexcept {
        return (std::uint64_t{count} + 1) * sizeof(Atomic<std::uint64_t>);
    }

    // false: there is no room for another loan.
    //   process  < processes_max
    [[nodiscard]] bool lend(Offset block, std::uint32_t process, Lent what = Lent::bytes) noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint64_t none = 0;
            // release: partner is end_all(), which frees the block
            if (words_[i].load(std::memory_order_relaxed) == 0 &&
                words_[i].compare_exchange_strong(none, packed(block, process, what),
                                                  std::memory_order_release,
                                                  std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }

    // Ends a loan: the block belongs to the caller. false: the block is not on loan to the process,
    // or its loan is held.
    [[nodiscard]] bool end(Offset block, std::uint32_t process) noexcept {
        return change(packed(block, process), 0);
    }

    // Transfers a loan to another block: that one is then on loan, and the first one belongs to the
    // caller. false: see end().
    [[nodiscard]] bool hand_over(Offset block, Offset to, std::uint32_t process) noexcept {
        return change(packed(block, process), packed(to, process));
    }

    // Prevents recovery from ending a loan until let_go() or end_held(). false: see end().
    [[nodiscard]] bool hold(Offset block, std::uint32_t process, Lent what = Lent::bytes) noexcept {
        const std::uint64_t loan = packed(block, process, what);
        return change(loan, loan | held);
    }

    void let_go(Offset block, std::uint32_t process, Lent what = Lent::bytes) noexcept {
        const std::uint64_t loan = packed(block, process, what);
        (void)change(loan | held, loan);
    }

    void end_held(Offset block, std::uint32_t process) noexcept {
        (void)change(packed(block, process) | held, 0);
    }

    // Frees a block on loan to the calling process. false: see end().
    //   free(block, unlink)  frees it, and calls unlink() just before
    template <typename Free>
    [[nodiscard]] bool end_own(Offset block, std::uint32_t process, const Free& free) {
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint64_t loan = packed(block, process);
            if (words_[i].load(std::memory_order_relaxed) != loan || !begin_to_end(i, loan))
                continue;
            end_at(i, free);
            return true;
        }
        return false;
    }

    // Ends the loans of processes that are gone. false: another live participant is doing so.
    //   own                  number of the calling participant
    //   is_dead(number)      whether a participant is dead is_gone(process)
    //   free(block, unlink, what, process)  see end_own(); may postpone the end, by not calling
    //                                       unlink()
    template <typename IsDead, typename IsGone, typename Free>
    bool end_all(std::uint32_t own,
                 const IsDead& is_dead,
                 const IsGone& is_gone,
                 const Free& free) {
        std::uint64_t ender = ender_->load(std::memory_order_acquire);
        if (ender != 0 && !is_dead(static_cast<std::uint32_t>(ender - 1))) return false;
        // acq_rel: writes of the participant before
        if (!ender_->compare_exchange_strong(ender, std::uint64_t{own} + 1,
                                             std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
            return false;
        }
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint64_t loan = words_[i].load(std::memory_order_acquire);
            if (loan == 0 || (loan & held) != 0 || !is_gone(process_in(loan))) continue;
            if ((loan & ending) != 0 || begin_to_end(i, loan)) end_at(i, free);
        }
        ender_->store(0, std::memory_order_release);
        return true;
    }

    // Ends the loan of a container at its first use. false: recovery is ending it, because its
    // process is gone.
    [[nodiscard]] bool end_by_use(Offset block, std::uint32_t process) noexcept {
        const std::uint64_t lent = packed(block, process, Lent::container);
        for (std::uint32_t i = 0; i < count_; ++i) {
            std::uint64_t loan = words_[i].load(std::memory_order_acquire);
            if ((loan & ~ending) != lent) continue;
            // acq_rel: exactly one ends it: this call, another first use, or the recovery of the
            // process
            return loan == lent &&
                   (words_[i].compare_exchange_strong(loan, 0, std::memory_order_acq_rel,
                                                      std::memory_order_acquire) ||
                    loan != (lent | ending));
        }
        return true;
    }

    // Whether the block is on loan to any process.
    [[nodiscard]] bool has(Offset block) const noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            const std::uint64_t loan = words_[i].load(std::memory_order_acquire);
            if (loan != 0 && block_in(loan) == block) return true;
        }
        return false;
    }

    static constexpr std::uint32_t processes_max = (1U << 25) - 1;  // ranks of a job

private:
    static constexpr std::uint32_t number_bits = 36;  // bits of a block's offset in granules
    static constexpr std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;
    static constexpr std::uint64_t held = std::uint64_t{1} << 63;
    // The block is about to be freed: by the process, or after its death by end_all().
    static constexpr std::uint64_t ending = std::uint64_t{1} << 62;
    static constexpr std::uint32_t what_shift = 61;  // a Lent

    [[nodiscard]] static constexpr std::uint64_t packed(Offset block,
                                                        std::uint32_t process,
                                                        Lent what = Lent::bytes) noexcept {
        return static_cast<std::uint64_t>(what) << what_shift |
               (std::uint64_t{process} + 1) << number_bits | block / granule_bytes;
    }

    [[nodiscard]] static constexpr Lent what_in(std::uint64_t loan) noexcept {
        return static_cast<Lent>(loan >> what_shift & 1);
    }

    [[nodiscard]] static constexpr Offset block_in(std::uint64_t loan) noexcept {
        return (loan & number_mask) * granule_bytes;
    }

    [[nodiscard]] static constexpr std::uint32_t process_in(std::uint64_t loan) noexcept {
        return static_cast<std::uint32_t>((loan >> number_bits & processes_max) - 1);
    }

    [[nodiscard]] bool begin_to_end(std::uint32_t index, std::uint64_t loan) noexcept {
        // acq_rel: of several threads that end a loan one frees the block
        return words_[index].compare_exchange_strong(loan, loan | ending, std::memory_order_acq_rel,
                                                     std::memory_order_relaxed);
    }

    template <typename Free>
    void end_at(std::uint32_t index, const Free& free) {
        const std::uint64_t loan = words_[index].load(std::memory_order_relaxed);
        free(
            block_in(loan), [&] { words_[index].store(0, std::memory_order_release); },
            what_in(loan), process_in(loan));
    }

    bool change(std::uint64_t loan, std::uint64_t instead) noexcept {
        for (std::uint32_t i = 0; i < count_; ++i) {
            if (words_[i].load(std::memory_order_relaxed) != loan) continue;
            // acq_rel: of several threads that end a loan one gets the block
            return words_[i].compare_exchange_strong(loan, instead, std::memory_order_acq_rel,
                                                     std::memory_order_relaxed);
        }
        return false;
    }

    Atomic<std::uint64_t>* ender_;  // the participant in end_all(): its number + 1; 0: none
    Atomic<std::uint64_t>* words_;
    std::uint32_t count_;
};

}  // namespace acp::heap
